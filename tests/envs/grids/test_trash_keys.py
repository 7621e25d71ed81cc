"""Trash and keys: the tree of key, door, trash and bin."""

import numpy as np
import pytest

from coevo.envs import make

ID = "coevo/trash_keys-v0"


def started(seed=0, **options):
    task = make(ID, **options).task
    task.reset(np.random.default_rng(seed), {})
    return task


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


@pytest.mark.parametrize("options", [{}, {"trash": 3, "steps": 120}])
def test_experts_bring_all_trash_to_the_bin(options):
    for seed in range(15):
        task = started(seed, **options)
        while task.to_move():
            task.play({seat: task.aim(i) for i, seat in enumerate(task.seats)})
        assert task.outcome()["binned"] == 1
