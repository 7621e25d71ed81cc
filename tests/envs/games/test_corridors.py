"""Corridors that a designer builds: who gets through, and what is paid."""

import pytest

from coevo.envs import make, spec
from coevo.envs.games.corridors import DESIGNER, WALKERS, WALLED

ID = "coevo/corridors-v0"


def walk(level, wrong=None, lost=WALKERS):
    """Build a level and walk it rightly, but for those `lost` at one door; return the payoffs."""
    env = make(ID)
    env.reset(seed=0)
    env.step(f"[{level}]")
    while env.awaiting:
        seat, right = env.agent_selection, env.task.way(env.task.door)
        strays = env.task.door == wrong and seat in lost
        env.step(f"[{1 + int(right) % 3}]" if strays else f"[{right}]")
    return [env.episode.total(seat, "payoff") for seat in (DESIGNER, *WALKERS)]


def test_who_gets_through_all_doors_earns_1_and_nobody_does_behind_the_wall():
    assert walk(3) == walk(10) == [0, 1, 1, 1, 1]
    assert walk(3, wrong=3) == walk(WALLED) == [0, 0, 0, 0, 0]
    assert walk(5, wrong=2, lost=WALKERS[:2]) == [0, 0, 0, 1, 1]
    assert walk(2, wrong=3) == [0, 1, 1, 1, 1]


def test_a_walker_sees_its_door_and_not_the_length():
    prompts = []
    for level in (2, 9, WALLED):
        env = make(ID)
        env.reset(seed=0)
        env.step(f"[{level}]")
        prompts.append(env.chat(WALKERS[0]))
    assert prompts[0] == prompts[1] == prompts[2]


def test_references_by_enumeration():
    odds = [3.0**-doors for doors in range(1, 11)]
    assert spec(ID).refs == pytest.approx({"random": 0.8 * sum(odds) / 11, "oracle": 0.8})
