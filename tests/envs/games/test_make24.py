"""Make 24: which deals can be solved, what steps lead to, and what chance solves."""

from fractions import Fraction
from statistics import fmean

import pytest

from coevo.envs import make, spec
from coevo.envs.games.make24 import GOAL, by_chance, deals, solvable, steps

ID = "coevo/make24-v0"


def of(*numbers):
    return tuple(map(Fraction, numbers))


def test_known_deals():
    assert all(map(solvable, (of(3, 3, 8, 8), of(1, 5, 5, 5), of(1, 3, 4, 6))))
    assert not any(map(solvable, (of(1, 1, 1, 1), of(7, 7, 7, 7))))
    assert len(deals()) == 404 == len(set(deals()))


def test_steps_never_give_a_negative_number_or_divide_by_nothing():
    after = steps(of(0, 4, 9))
    assert "4 - 9" not in after and "9 - 4" in after
    assert not any(step.endswith("/ 0") for step in after)
    assert all(min(left) >= 0 for left in after.values())


def test_the_expert_solves_every_deal():
    env = make(ID)
    for seed in range(30):
        env.reset(seed=seed)
        while env.awaiting:
            replies = env.expert("solver_0", 1.0)
            env.step(replies.texts[int(replies.probabilities.argmax())])
        assert env.episode.outcome["solved"] == 1 and env.task.left == (GOAL,)


def test_references():
    refs = spec(ID).refs
    assert refs["oracle"] == 1
    assert refs["random"] == pytest.approx(fmean(map(by_chance, deals())))
