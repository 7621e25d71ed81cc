"""Liar's dice over rounds: what bids are legal, who loses a die, chances, payoffs."""

import itertools

import numpy as np
import pytest

from coevo.envs import make

ID = "coevo/liars_dice_rounds-v0"


def started(dice, **options):
    """Return a game in which everybody has rolled what is given."""
    env = make(ID, players=len(dice), dice=len(dice[0]), **options)
    env.reset(seed=0)
    env.task.dice = dict(zip(env.possible_agents, dice, strict=True))
    return env


def test_a_bid_lowers_nothing_and_raises_something():
    env = started([(2, 5), (5, 6)])
    assert "liar" not in env.infos["player_0"]["legal_actions"]
    assert len(env.infos["player_0"]["legal_actions"]) == 4 * 6
    env.step("[3-5]")
    assert env.infos["player_1"]["legal_actions"] == ["3-6", "4-5", "4-6", "liar"]
    env.step("[4-6]")
    assert env.infos["player_0"]["legal_actions"] == ["liar"]


@pytest.mark.parametrize(("bid", "loser"), [("2-5", "player_1"), ("3-5", "player_0")])
def test_a_doubt_costs_whoever_was_wrong_a_die(bid, loser):
    env = started([(2, 5), (5, 6)])
    env.step(f"[{bid}]")
    env.step("[liar]")
    assert env.task.left == {seat: 1 if seat == loser else 2 for seat in env.possible_agents}
    assert env.agent_selection == loser, "who lost a die bids first"
    assert "there were 2" in env.chat(loser)[-1]["content"]
    assert {seat: len(dice) for seat, dice in env.task.dice.items()} == env.task.left


def test_payoffs_go_by_the_order_of_leaving():
    env = started([(1,), (2,), (3,), (4,)])
    env.step("[2-6]")
    env.step("[liar]")  # player_0 is out, and player_1 goes on
    assert env.agent_selection == "player_1" and not env.task.left["player_0"]
    env.task.dice = {"player_0": (), "player_1": (2,), "player_2": (3,), "player_3": (4,)}
    env.step("[1-2]")
    env.step("[liar]")  # true: player_2 is out
    assert env.agent_selection == "player_3"
    env.task.dice |= {"player_1": (2,), "player_2": (), "player_3": (4,)}
    env.step("[1-5]")
    assert env.agent_selection == "player_1", "who is out is not asked"
    env.step("[liar]")
    assert not env.awaiting
    totals = [env.episode.total(seat) for seat in env.possible_agents]
    assert totals == pytest.approx([-1, 1, -1 / 3, 1 / 3])


def test_chances_are_those_of_all_rolls():
    env = started([(2, 5), (5, 6)])
    for number, face in itertools.product((1, 2, 3, 4), (2, 6)):
        rolls = itertools.product(range(1, 7), repeat=2)
        held = [(2, 5).count(face) + roll.count(face) >= number for roll in rolls]
        assert env.task.chance("player_0", (number, face)) == pytest.approx(np.mean(held))


def test_the_expert_doubts_what_cannot_be_and_bids_what_it_holds():
    env = started([(5, 5), (1, 1)])
    best = env.expert("player_0", 1.0)
    sure = {t for t, p in zip(*best, strict=True) if p > 0}
    assert sure == {f"[1-{f}]" for f in (5,)} | {"[2-5]"}
    env.step("[4-5]")
    best = env.expert("player_1", 1.0)
    assert {t for t, p in zip(*best, strict=True) if p > 0} == {"[liar]"}
