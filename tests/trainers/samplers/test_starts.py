"""The history of task: what is counted, what fades, and what a checkpoint keeps."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.samplers.allocate import Vade
from coevo.trainers.samplers.tasks import TaskHistory, TaskStats


def test_counts_without_forgetting():
    history = TaskHistory(3)
    history.after_update([0, 2, 0, 2], [1.0, 0.0, 0.0, 0.5])
    history.after_update([2], [1.0])
    stats = history.stats()
    assert stats.successes_P.tolist() == [1.0, 0.0, 1.5]
    assert stats.trials_P.tolist() == [2.0, 0.0, 3.0]
    assert stats.visits_P.tolist() == [1, 0, 2]
    assert stats.last_mean_P[[0, 2]].tolist() == [0.5, 1.0] and math.isnan(stats.last_mean_P[1])


def test_two_speeds_of_forgetting():
    history = TaskHistory(2, lam_v=0.5, lam_g=0.8)
    history.after_update([0, 0, 1, 1], [1.0, 1.0, 1.0, 0.0])
    history.after_update([0, 0], [0.0, 1.0])
    stats = history.stats()
    assert stats.successes_P == pytest.approx([0.5 * 0.8 * 2 + 1, 0.8 * 1])
    assert stats.trials_P == pytest.approx([0.5 * 0.8 * 2 + 2, 0.8 * 2])
    for _ in range(200):
        history.fade()
    assert history.stats().trials_P == pytest.approx([0.0, 0.0], abs=1e-12)
    assert history.stats().last_mean_P.tolist() == [0.5, 0.5]


def test_successes_may_be_fractions_and_nothing_else():
    history = TaskHistory(1)
    history.observe(0, [0.0, 0.5, 1.0, 1.0])
    assert history.stats().successes_P.tolist() == [2.5]
    with pytest.raises(ConfigError, match="task 0 has successes from"):
        history.observe(0, [0.0, 2.0])
    with pytest.raises(ConfigError, match="successes from nan"):
        history.observe(0, [math.nan])


def test_no_outcomes_are_no_visit():
    history = TaskHistory(1)
    history.observe(0, [])
    assert history.stats().visits_P.tolist() == [0]


@pytest.mark.parametrize("task", [-1, 3])
def test_a_start_outside_the_list_is_refused(task):
    with pytest.raises(ConfigError, match=f"task {task} is not one of the 3"):
        TaskHistory(3).observe(task, [1.0])


def test_arguments_are_checked():
    with pytest.raises(ConfigError, match="a history of 0 tasks"):
        TaskHistory(0)
    with pytest.raises(ConfigError, match=r"lam_g=1\.1"):
        Vade(lam_g=1.1)
    with pytest.raises(ConfigError, match="2 tasks and 1 successes"):
        TaskHistory(2).after_update([0, 1], [1.0])


def test_statistics_are_a_copy_and_cannot_be_written():
    history = TaskHistory(2)
    before = history.stats()
    history.observe(0, [1.0])
    assert before.trials_P.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        before.trials_P[0] = 1.0


def test_statistics_of_some_starts():
    history = TaskHistory(3)
    history.after_update([0, 1, 2], [0.0, 1.0, 1.0])
    assert history.stats([2, 0]).successes_P.tolist() == [1.0, 0.0]
    assert len(history.stats([])) == 0


@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), max_size=30),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_a_history_continues_from_json_as_if_never_stopped(episodes, lam_v, lam_g):
    def make():
        return TaskHistory(4, lam_v=lam_v, lam_g=lam_g)

    whole, first, second = make(), make(), make()
    cut = len(episodes) // 2

    def play(part, *histories):
        for history in histories:
            history.after_update([s for s, _ in part], [r for _, r in part])

    play(episodes[:cut], whole, first)
    second.load_state_dict(json.loads(json.dumps(first.state_dict(), allow_nan=False)))
    play(episodes[cut:], whole, second)
    assert second.state_dict() == whole.state_dict()


def test_a_state_of_another_size_or_kind_is_refused():
    state = TaskHistory(2).state_dict()
    with pytest.raises(DataError, match="of 2 tasks, this history has 3"):
        TaskHistory(3).load_state_dict(state)
    with pytest.raises(DataError, match="KeyError"):
        TaskHistory(2).load_state_dict({"trials_P": [0.0, 0.0]})
    with pytest.raises(DataError, match="between 0 and trials_P"):
        TaskHistory(2).load_state_dict(state | {"successes_P": [3.0, 0.0]})


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([1.0], [0.5], [0.5], [1]), "between 0 and trials_P"),
        (([-1.0], [2.0], [0.5], [1]), "between 0 and trials_P"),
        (([np.nan], [2.0], [0.5], [1]), "between 0 and trials_P"),
        (([1.0, 1.0], [2.0], [0.5], [1]), r"expected one \[P\]"),
        (([1.0], [2.0], [1.5], [1]), "last_mean_P"),
    ],
)
def test_impossible_statistics_are_refused(arrays, message):
    with pytest.raises(ConfigError, match=message):
        TaskStats(*arrays)
