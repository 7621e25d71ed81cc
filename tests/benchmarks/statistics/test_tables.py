"""Normalisation and the table of scores."""

import math

import pytest

from coevo.benchmarks.statistics.normalise import normalise
from coevo.benchmarks.statistics.score_table import Score, score_table
from coevo.envs.core.errors import ConfigError, DataError


def test_scenario_scores_of_worked_examples_may_leave_the_unit_interval():
    assert normalise([2, 7, 12, 14], 2, 12).tolist() == [0, 0.5, 1, 1.2]


def test_less_may_be_better():
    assert normalise([0.5, 0.0], random=1.0, oracle=0.0).tolist() == [0.5, 1.0]


def test_runs_line_up_by_seed_in_any_order():
    scores = [
        Score(a, t, s, s + (a == "b") + 10 * (t == "y")) for a in "ab" for t in "xy" for s in (3, 1)
    ]
    table = score_table(reversed(scores))
    assert table.seeds == (1, 3)
    assert table.scores["b"][:, table.tasks.index("y")].tolist() == [12, 14]


def test_a_failed_run_takes_its_seed_out_for_everybody():
    scores = [Score(a, "x", s, 1.0) for a in "ab" for s in range(3)]
    scores[1] = Score("a", "x", 1, math.nan)
    table = score_table(scores)
    assert (table.seeds, table.dropped) == ((0, 2), (1,))
    assert table.scores["b"].shape == (2, 1)


def test_a_missing_run_takes_its_seed_out_too():
    table = score_table([Score("a", "x", 0, 1), Score("a", "x", 1, 1), Score("b", "x", 0, 1)])
    assert (table.seeds, table.dropped) == ((0,), (1,))


def test_a_run_that_is_there_twice_is_an_error():
    with pytest.raises(DataError, match="two scores for a on x, seed 0"):
        score_table([Score("a", "x", 0, 1), Score("a", "x", 0, 2)])


def test_without_a_whole_seed_there_is_no_table():
    assert score_table([Score("a", "x", 0, 1), Score("b", "x", 1, 1)]) is None
    assert score_table([]) is None


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: normalise([1], 2, 2), "both 2"),
        (lambda: normalise([1], 2, math.nan), "references holds 1 NaN"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ConfigError, match=said):
        call()
