"""Aggregates and their intervals: worked examples, and rliable."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coevo.benchmarks.statistics.aggregates import (
    interquartile_mean,
    mean,
    median,
    optimality_gap,
)
from coevo.benchmarks.statistics.bootstrap import Interval, bootstrap_interval, percentiles
from coevo.benchmarks.statistics.improvement import improvement_interval
from coevo.benchmarks.statistics.profiles import profile_band, run_profile
from coevo.envs.core.errors import ConfigError

X = np.array([[0.2, 0.9, 0.5], [0.4, 0.7, 0.6], [0.1, 0.8, 0.9], [0.3, 1.2, 0.4]])
Y = np.array([[0.3, 0.6, 0.5], [0.2, 0.7, 0.3], [0.1, 0.5, 0.6], [0.25, 0.9, 0.4]])
AGGREGATES = {
    "iqm": interquartile_mean,
    "mean": mean,
    "median": median,
    "optimality_gap": optimality_gap,
}


def probability_of_improvement(x, y):
    return improvement_interval(x, y, np.random.default_rng(0), 2).point


tables = arrays(float, (4, 3), elements=st.integers(-20, 20).map(lambda i: i / 10))


# ---- Worked examples -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (X, {"mean": 0.5833333, "median": 0.6, "iqm": 0.5666667, "optimality_gap": 0.4333333}),
        (Y, {"mean": 0.4458333, "median": 0.45, "iqm": 0.4333333, "optimality_gap": 0.5541667}),
    ],
)
def test_aggregates_of_worked_examples(scores, expected):
    found = {name: float(statistic(scores)) for name, statistic in AGGREGATES.items()}
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("values", "expected"), [([1, 2, 3, 4, 100], 3), ([0, 1, 2, 3, 4, 50], 2.5), ([1, 2, 9], 4)]
)
def test_interquartile_means_of_worked_examples(values, expected):
    assert interquartile_mean(values) == pytest.approx(expected, abs=1e-12)


def test_probability_of_improvement_of_worked_examples():
    by_task = [probability_of_improvement(x, y) for x, y in zip(X.T, Y.T, strict=True)]
    assert by_task == [0.59375, 0.8125, 0.71875]
    assert probability_of_improvement(X, Y) == pytest.approx(0.7083333, abs=1e-6)


def test_profiles_of_worked_examples():
    taus = [0.2, 0.5, 0.8, 1]
    assert run_profile(X, taus) == pytest.approx([0.8333333, 0.5, 0.25, 0.0833333], abs=1e-6)


def test_intervals_of_worked_examples():
    for statistic, expected in (
        (interquartile_mean, (0.4666667, 0.7004167)),
        (mean, (0.4916667, 0.6833333)),
    ):
        found = bootstrap_interval(X, statistic, np.random.default_rng(0), 20_000)
        assert (found.low, found.high) == pytest.approx(expected, abs=0.01)


# ---- rliable ---------------------------------------------------------------------------------


@pytest.mark.parametrize("case", range(3))
def test_what_rliable_computes(oracles, case, rng):
    oracle = oracles["scores"][case]
    x, y, taus = oracle["x"], oracle["y"], oracle["taus"]
    for name, statistic in AGGREGATES.items():
        assert float(statistic(x)) == pytest.approx(oracle["aggregates"][name], abs=1e-12)
    assert probability_of_improvement(x, y) == pytest.approx(oracle["improvement"], abs=1e-12)
    assert run_profile(x, taus) == pytest.approx(oracle["run_profile"], abs=1e-12)


@pytest.mark.parametrize("case", range(3))
def test_intervals_agree_with_those_of_rliable(oracles, case, rng):
    oracle = oracles["scores"][case]
    spread = np.std(oracle["x"])
    for name, statistic in AGGREGATES.items():
        found = bootstrap_interval(oracle["x"], statistic, rng, 20_000)
        assert (found.low, found.high) == pytest.approx(
            oracle["bounds"][name], abs=0.03 * spread
        ), name
    found = improvement_interval(oracle["x"], oracle["y"], rng, 20_000)
    assert (found.low, found.high) == pytest.approx(oracle["improvement_bounds"], abs=0.03)
    band = profile_band(oracle["x"], oracle["taus"], rng, 5000)
    assert np.allclose([band.low, band.high], oracle["profile_bounds"], atol=0.09)  # steps of 1/12


# ---- Laws ------------------------------------------------------------------------------------


@given(tables, st.permutations(range(4)), st.permutations(range(3)))
def test_the_order_of_runs_and_tasks_does_not_matter(scores, runs, tasks):
    shuffled = scores[runs][:, tasks]
    for statistic in AGGREGATES.values():
        assert float(statistic(shuffled)) == pytest.approx(float(statistic(scores)), abs=1e-12)
    taus = [-1.0, 0.0, 0.5]
    assert run_profile(shuffled, taus) == pytest.approx(run_profile(scores, taus))


@given(tables, tables)
def test_improvements_of_both_directions_add_up_to_one(x, y):
    there, back = probability_of_improvement(x, y), probability_of_improvement(y, x)
    assert there + back == pytest.approx(1, abs=1e-12)


@given(tables)
def test_an_algorithm_ties_with_itself(x):
    assert probability_of_improvement(x, x) == 0.5


@given(tables)
def test_replicates_are_computed_as_single_tables_are(scores):
    stacked = np.stack([scores, 2 * scores])
    for statistic in AGGREGATES.values():
        each = [float(statistic(scores)), float(statistic(2 * scores))]
        assert statistic(stacked).tolist() == pytest.approx(each)


# ---- What is refused or undefined ------------------------------------------------------------


def test_one_run_has_no_interval(rng):
    for found in (
        bootstrap_interval([[0.5, 0.7]], mean, rng),
        improvement_interval([[0.5]], [[0.4], [0.3]], rng),
    ):
        assert np.isnan([found.low, found.high]).all()
        assert not np.isnan(found.point)
    assert np.isnan(profile_band([[0.5]], [0.1], rng).low).all()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mean([]), "scores is empty"),
        (lambda: median([[1, np.nan]]), "scores holds 1 NaN"),
        (lambda: mean([[1, 2], [3]]), "regular table"),
        (lambda: optimality_gap([np.inf]), "infinite"),
        (lambda: probability_of_improvement([[1, 2]], [[1]]), "not runs of the same tasks"),
        (lambda: bootstrap_interval([1, 2], mean, np.random.default_rng(0), 0), "replicates=0"),
        (lambda: percentiles(np.arange(3.0), 95), "confidence=95"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ConfigError, match=said):
        call()


def test_an_interval_prints_its_number_of_runs():
    assert str(Interval(0.1, 0.2, 0.3, 5)) == "0.200 [0.100, 0.300] (n = 5)"
