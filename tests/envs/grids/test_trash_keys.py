"""Trash and keys: the tree of key, door, trash and bin, and what managers change."""

import numpy as np
import pytest

from coevo.envs import make
from coevo.envs.grids.trash_keys import GOALS

ID = "coevo/trash_keys-v0"


def started(seed=0, **options):
    task = make(ID, **options).task
    task.reset(np.random.default_rng(seed), {})
    return task


def by_expert(task):
    """Play to the end; return what every seat earned, and the moves of each."""
    earned, moves = dict.fromkeys(task.seats, 0.0), {seat: [] for seat in task.seats}
    while asked := task.to_move():
        made = {}
        for seat in asked:
            replies = task.expert(seat, 1.0)
            made[seat] = replies.texts[int(replies.probabilities.argmax())][1:-1]
            moves[seat].append(made[seat])
        for seat, paid in task.play(made).items():
            earned[seat] += paid
    return earned, moves


def test_a_key_opens_the_door_once_and_trash_goes_to_the_bin():
    task = started(drawn=False)
    at = {thing: np.argwhere(task.plane(thing))[0].tolist() for thing in ("key", "door", "trash")}
    assert [[n - task.pad for n in cell] for cell in at.values()] == [[1, 1], [3, 3], [3, 5]]
    task.take(0), task.take(1)
    task.put(0, (task.pad + 3, task.pad + 2))
    task.put(1, (task.pad + 1, task.pad + 2))
    task.play({"walker_0": "east", "walker_1": "west"})
    assert task.at[0] == (task.pad + 3, task.pad + 2), "the door is closed"
    assert task.holds == [None, "key"] and not task.plane("key").any()
    assert "You hold nothing, the other the key" in task.situation("walker_0")
    task.take(0), task.take(1)
    task.put(1, (task.pad + 3, task.pad + 2))
    task.put(0, (task.pad + 1, task.pad + 1))
    task.play({"walker_0": "stay", "walker_1": "east"})
    assert task.holds == [None, None] and not task.plane("door").any()
    task.play({"walker_0": "stay", "walker_1": "east"})
    task.play({"walker_0": "stay", "walker_1": "east"})
    assert task.holds == [None, "trash"] and task.outcome()["binned"] == 0
    task.take(1)
    task.put(1, (task.pad + 5, task.pad + 2))
    paid = task.play({"walker_0": "stay", "walker_1": "west"})
    assert paid == {"walker_0": 1.0, "walker_1": 1.0} and task.to_move() == ()


@pytest.mark.parametrize("options", [{}, {"managers": True}, {"trash": 3, "steps": 120}])
def test_experts_bring_all_trash_to_the_bin(options):
    for seed in range(15):
        task = started(seed, **options)
        by_expert(task)
        assert task.outcome()["binned"] == 1


def test_managers_earn_trash_and_walkers_what_they_are_told():
    task = started(managers=True)
    assert task.to_move() == task.managers and not task.simultaneous
    assert task.legal("manager_0") == ["key"] and task.numbered("manager_0") == {0: "key"}
    earned, moves = by_expert(task)
    assert earned["manager_0"] == earned["manager_1"] == 1
    told = moves["manager_0"] + moves["manager_1"]
    assert earned["walker_0"] + earned["walker_1"] == 4
    assert {*told, "wait"} == {*GOALS}


def test_a_subgoal_stands_until_it_is_reached_or_its_time_is_over():
    task = started(managers=True, every=3)
    task.play({"manager_0": "key", "manager_1": "key"})
    assert "Subgoal: key." in task.terse("walker_0")
    assert "Subgoal" not in started().terse("walker_0")
    for _ in range(3):
        assert task.to_move() == task.walkers
        task.play({"walker_0": "stay", "walker_1": "stay"})
    assert task.to_move() == task.managers
    task.holds[0] = "key"
    task.plane("key")[:] = 0
    assert [task.legal(m) for m in task.managers] == [["door"], ["wait"]]
    task.plane("door")[:] = 0
    task.holds = [None, "trash"]
    assert [task.legal(m) for m in task.managers] == [["trash"], ["bin"]]


def test_a_manager_sees_what_its_walker_sees():
    task = started(managers=True)
    assert (task.array("manager_1") == task.array("walker_1")).all()
    assert task.array_space.contains(task.array("manager_0"))
    assert "walker_1" in task.rules("manager_1") and "manager_1" in task.rules("manager_1")
