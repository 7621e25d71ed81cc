"""Bonuses for what is new: in the run, in the episode, or both, and their counts in checkpoints."""

import json

import pytest

from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import DataError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import ExplorationBonus

SEAT = "player_0"


def play(*read):
    turns = [
        Turn(SEAT, ({"role": "user", "content": text},), "a", "a", Status.LEGAL, None)
        for text in read
    ]
    return Episode("e", 0, {}, (SEAT,), "", turns, StopReason.FINISHED)


def paid(module, *read):
    return [rewards.get(SEAT) for rewards in module.table([play(*read)])[0]]


def test_a_reply_is_paid_for_what_is_read_next():
    bonus = ExplorationBonus(scope="episodic", beta=0.5)
    assert paid(bonus, "x", "y", "x", "y") == [0.5, 0.0, 0.0, None]


def test_counts_are_those_of_the_run_and_the_product_needs_both():
    one, both = (ExplorationBonus(scope=s, beta=1.0) for s in ("global", "product"))
    for module in (one, both):
        assert module.fit([play("x", "y", "y", "y")]) == {"messages": 2.0}
    assert paid(one, "x", "y", "y", "z") == [0.5, 0.5, 1.0, None]
    assert paid(both, "x", "y", "y", "z") == [0.5, 0.0, 1.0, None]


def test_counts_are_in_the_checkpoint():
    one, other = ExplorationBonus(), ExplorationBonus()
    one.fit([play("x", "y")])
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert paid(one, "y", "x") == paid(other, "y", "x") != paid(ExplorationBonus(), "y", "x")
    with pytest.raises(DataError, match="counts"):
        other.load_state_dict({"counts": 3})
