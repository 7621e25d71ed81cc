"""Places in a tournament of replies: brackets, ties, rests, and answers that cannot be read."""

import re

import numpy as np
import pytest

from coevo.agents.agent import Agent, Reply
from coevo.envs.core.apply import apply_batch
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.parsing import Status
from coevo.envs.core.rewards import ScoreContext
from coevo.trainers.judges.roles import JudgeRole, Roles
from coevo.trainers.judges.tournament import BRACKETS, Tournament


def played(bracket, quality):
    """Play a bracket by exact points; return the places and the number of pairs."""
    rounds, asked = BRACKETS[bracket](len(quality)), 0
    try:
        pairs = next(rounds)
        while True:
            asked += len(pairs)
            pairs = rounds.send([quality[a] - quality[b] for a, b in pairs])
    except StopIteration as end:
        return end.value, asked


@pytest.mark.parametrize(("bracket", "asked"), [("anchor", 7), ("single", 14), ("round_robin", 28)])
def test_an_exact_judge_finds_the_best(bracket, asked):
    places, pairs = played(bracket, [3, 7, 0, 2, 5, 1, 4, 6])
    assert pairs == asked and places[1] == 1.0 and places[7] > 0.8
    if bracket != "single":  # a knock-out need not order those who are out in one round
        assert (places * 7).tolist() == pytest.approx([3, 7, 0, 2, 5, 1, 4, 6])


def test_six_replies_have_two_rests_and_all_places():
    places, pairs = played("single", [3, 1, 0, 5, 2, 4])
    assert pairs == 10 and places[3] == 1.0 and sorted(places * 5) == pytest.approx(range(6))


@pytest.mark.parametrize("bracket", BRACKETS)
def test_equal_replies_have_equal_places(bracket):
    for count in (1, 2, 5, 8):
        assert played(bracket, [1] * count)[0].tolist() == [0.5] * count


class Points(Agent):
    """Gives an answer as many points as it says, and the first one more; some answers it loses."""

    name, version = "judge", 3

    def __init__(self, lost=()):
        self.lost, self.asked = lost, 0

    def act(self, requests):
        self.asked += len(requests)
        return [Reply(self._said(r.chat[-1]["content"]), [1], [2], [0.0]) for r in requests]

    def _said(self, text):
        one, other = re.findall(r'(?:First|Second): "(\d)"', text)
        return "hm" if (one, other) in self.lost else f"[{min(7, int(one) + 1)} {other}]"


def plays(*answers, task="t"):
    chat = ({"role": "user", "content": "Write."},)
    turns = [Turn("player_0", chat, f"[{a}]", a, Status.LEGAL, None) for a in answers]
    return [Episode("e", 0, {}, ("player_0",), task, [t], StopReason.FINISHED) for t in turns]


def paid(module, episodes, lost=()):
    judge = Points(lost)
    roles = Roles({"judge": JudgeRole()}, {"judge": judge})
    apply_batch([module], episodes, ScoreContext(judges=roles))
    return [e.turns[0].rewards["tournament"].get("player_0") for e in episodes], judge.asked


@pytest.mark.parametrize("bracket", BRACKETS)
def test_equal_answers_share_a_place_and_order_gains_nothing(bracket):
    found, asked = paid(Tournament(bracket=bracket), plays("2", "5", "2", "0"))
    assert found == [0.5, 1.0, 0.5, 0.0]
    assert asked == {"anchor": 4, "single": 8, "round_robin": 6}[bracket]
    assert paid(Tournament(bracket=bracket), plays("2", "2")) == ([0.5, 0.5], 0)


def test_tasks_are_apart_and_one_order_is_enough():
    both = [*plays("1", "4"), *plays("6", "3", task="u")]
    assert paid(Tournament(), both, lost=[("1", "4")])[0] == [0.0, 1.0, 1.0, 0.0]


def test_where_neither_order_is_read_the_group_has_no_reward():
    both = [*plays("1", "4", "5"), *plays("6", "3", task="u")]
    found, _ = paid(Tournament(bracket="anchor"), both, lost=[("1", "4"), ("4", "1")])
    assert found == [None, None, None, 1.0, 0.0]
    assert np.all([e.unrewarded("player_0") for e in both[:3]])
