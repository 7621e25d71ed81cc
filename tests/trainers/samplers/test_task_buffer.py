"""What episodes leave for later episodes: what is kept, for how long, and who gets it."""

import json

import numpy as np
import pytest

from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import DataError
from coevo.envs.core.parsing import Status
from coevo.trainers.samplers.task_buffer import KeptTasks, TaskStore


def left(*items, stop=StopReason.FINISHED):
    turn = Turn("a", (), "", None, Status.LEGAL, None, notes={"keep": list(items)})
    return Episode("coevo/some-v0", 0, {}, ("a",), turns=[turn], stop=stop)


def item(key, success=0.5):
    return {"key": key, "success": success, "question": f"what is {key}?"}


def keys(archive):
    return [key for key, _ in archive.state_dict()["items"]]


def test_nothing_is_kept_by_default():
    archive = TaskStore()
    archive.take([left(item("a"))], 0)
    assert archive.give(np.random.default_rng(0)) == {} and archive.state_dict() == {}
    with pytest.raises(DataError, match="without memory"):
        archive.load_state_dict({"items": []})


def test_what_went_too_well_and_plays_that_failed_are_left_out():
    archive = KeptTasks(threshold=0.5, every=0).store()
    archive.take([left(item("a", 0.5), item("b", 0.51)), left(item("c"), stop=StopReason.ERROR)], 0)
    assert keys(archive) == ["a"]
    archive.take([left(item("a", 0.9))], 1)
    assert keys(archive) == [], "what has become easy goes"


def test_equal_items_are_one_and_the_newest_counts():
    archive = KeptTasks(every=0).store()
    archive.take([left(item("a", 0.1), item("b"), item("a", 0.3))], 0)
    assert keys(archive) == ["b", "a"]
    assert archive.metrics() == {
        "task_buffer/items": 2.0,
        "task_buffer/again": pytest.approx(1 / 3),
    }
    drawn = archive.give(np.random.default_rng(0))["stored"]
    assert sorted(i["key"] for i in drawn) == ["a", "b"]
    assert {i["success"] for i in drawn if i["key"] == "a"} == {0.3}


def test_it_is_wiped_expires_and_is_no_larger_than_it_may_be():
    wiped = KeptTasks(every=3).store()
    for step in range(4):
        wiped.take([left(item(str(step)))], step)
    assert keys(wiped) == ["3"], "the wipe takes what came with its update as well"
    aged = KeptTasks(every=0, expires=2).store()
    for step in range(4):
        aged.take([left(item(str(step)))], step)
    assert keys(aged) == ["2", "3"]
    small = KeptTasks(every=0, most=2).store()
    small.take([left(*(item(str(i)) for i in range(5)))], 0)
    assert keys(small) == ["3", "4"]


def test_a_play_gets_so_many_without_repeats_and_copies():
    archive = KeptTasks(every=0, given=3).store()
    archive.take([left(*(item(str(i)) for i in range(9)))], 0)
    draws = [archive.give(np.random.default_rng(s))["stored"] for s in range(30)]
    assert all(len({i["key"] for i in d}) == 3 for d in draws)
    assert {i["key"] for d in draws for i in d} == {str(i) for i in range(9)}
    draws[0][0]["question"] = "changed"
    assert "changed" not in str(archive.state_dict())


def test_the_state_survives_json():
    archive = KeptTasks(every=0, expires=5).store()
    archive.take([left(item("a"), item("b"))], 7)
    other = KeptTasks(every=0, expires=5).store()
    other.load_state_dict(json.loads(json.dumps(archive.state_dict())))
    assert other.state_dict() == archive.state_dict()
    other.take([], 12)
    assert keys(other) == []
    for state in ({}, {"items": [["a", {}]]}, {"items": 3}):
        with pytest.raises(DataError, match="archive"):
            other.load_state_dict(state)
