"""Aggregates and their intervals: worked examples of the sheet (section 2), and rliable."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coevo.benchmarks.statistics.aggregates import (
    AGGREGATES,
    interquartile_mean,
    mean,
    median,
    optimality_gap,
)
from coevo.benchmarks.statistics.bootstrap import (
    CHUNK,
    Interval,
    bootstrap_interval,
    difference_interval,
    percentiles,
    replicate,
    run_indices,
    take_runs,
)
from coevo.benchmarks.statistics.improvement import (
    improvement_by_task,
    improvement_interval,
    probability_of_improvement,
)
from coevo.benchmarks.statistics.profiles import profile_band, run_profile, task_profile
from coevo.envs.core.errors import ConfigError

X = np.array([[0.2, 0.9, 0.5], [0.4, 0.7, 0.6], [0.1, 0.8, 0.9], [0.3, 1.2, 0.4]])
Y = np.array([[0.3, 0.6, 0.5], [0.2, 0.7, 0.3], [0.1, 0.5, 0.6], [0.25, 0.9, 0.4]])
Z = np.array([[0.0, 1.0], [1.0, 3.0]])

tables = arrays(float, (4, 3), elements=st.integers(-20, 20).map(lambda i: i / 10))


# ---- Worked examples -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (X, {"mean": 0.5833333, "median": 0.6, "iqm": 0.5666667, "optimality_gap": 0.4333333}),
        (Y, {"mean": 0.4458333, "median": 0.45, "iqm": 0.4333333, "optimality_gap": 0.5541667}),
    ],
)
def test_aggregates_of_the_sheet(scores, expected):
    found = {name: float(statistic(scores)) for name, statistic in AGGREGATES.items()}
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("values", "expected"), [([1, 2, 3, 4, 100], 3), ([0, 1, 2, 3, 4, 50], 2.5), ([1, 2, 9], 4)]
)
def test_interquartile_means_of_the_sheet(values, expected):
    assert interquartile_mean(values) == pytest.approx(expected, abs=1e-12)


def test_probability_of_improvement_of_the_sheet():
    assert improvement_by_task(X, Y).tolist() == [0.59375, 0.8125, 0.71875]
    assert probability_of_improvement(X, Y) == pytest.approx(0.7083333, abs=1e-6)


def test_profiles_of_the_sheet():
    taus = [0.2, 0.5, 0.8, 1]
    assert run_profile(X, taus) == pytest.approx([0.8333333, 0.5, 0.25, 0.0833333], abs=1e-6)
    assert task_profile(X, taus) == pytest.approx([1, 0.6666667, 0.3333333, 0], abs=1e-6)


def test_the_exact_bootstrap_of_the_sheet():
    index = np.array(list(product(range(2), repeat=4))).reshape(16, 2, 2)
    values = mean(take_runs(Z, index))
    assert Counter(values.tolist()) == {0.5: 1, 0.75: 2, 1: 3, 1.25: 4, 1.5: 3, 1.75: 2, 2: 1}
    assert values.var() == 0.15625


def test_resampling_has_the_exact_distribution(rng):
    values = replicate(Z, mean, rng, 16_000)
    counts = Counter(values.tolist())
    expected = {0.5: 1, 0.75: 2, 1.0: 3, 1.25: 4, 1.5: 3, 1.75: 2, 2.0: 1}
    assert counts.keys() == expected.keys()
    # chi-square with 6 degrees of freedom: above 22.5 once in a thousand
    assert sum((counts[v] - 1000 * e) ** 2 / (1000 * e) for v, e in expected.items()) < 22.5


def test_seeded_intervals_of_the_sheet():
    for statistic, expected in (
        (interquartile_mean, (0.4666667, 0.7004167)),
        (mean, (0.4916667, 0.6833333)),
    ):
        found = bootstrap_interval(X, statistic, np.random.default_rng(0), 2000)
        assert (found.low, found.high) == pytest.approx(expected, abs=1e-6)


# ---- rliable ---------------------------------------------------------------------------------


@pytest.mark.parametrize("case", range(3))
def test_what_rliable_computes(oracles, case, rng):
    oracle = oracles["scores"][case]
    x, y, taus = oracle["x"], oracle["y"], oracle["taus"]
    for name, statistic in AGGREGATES.items():
        assert float(statistic(x)) == pytest.approx(oracle["aggregates"][name], abs=1e-12)
    assert probability_of_improvement(x, y) == pytest.approx(oracle["improvement"], abs=1e-12)
    assert run_profile(x, taus) == pytest.approx(oracle["run_profile"], abs=1e-12)
    assert task_profile(x, taus) == pytest.approx(oracle["task_profile"], abs=1e-12)


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
    assert np.allclose([band.low, band.high], oracle["profile_bounds"], atol=0.07)


# ---- Laws ------------------------------------------------------------------------------------


@given(tables, st.permutations(range(4)), st.permutations(range(3)))
def test_the_order_of_runs_and_tasks_does_not_matter(scores, runs, tasks):
    shuffled = scores[runs][:, tasks]
    for statistic in AGGREGATES.values():
        assert float(statistic(shuffled)) == pytest.approx(float(statistic(scores)), abs=1e-12)
    taus = [-1.0, 0.0, 0.5]
    assert run_profile(shuffled, taus) == pytest.approx(run_profile(scores, taus))
    assert task_profile(shuffled, taus) == pytest.approx(task_profile(scores, taus))


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


def test_improvement_by_counts_is_improvement_by_indices(rng):
    x, y = rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    values = [
        probability_of_improvement(take_runs(x, i[None])[0], take_runs(y, j[None])[0])
        for i, j in zip(run_indices(rng, (5, 2), 4000), run_indices(rng, (4, 2), 4000), strict=True)
    ]
    found = improvement_interval(x, y, rng, 40_000)
    assert (found.low, found.high) == pytest.approx(percentiles(np.array(values)), abs=0.04)


def test_chunks_do_not_change_what_is_drawn(monkeypatch):
    whole = replicate(X, mean, np.random.default_rng(3), 500)
    monkeypatch.setattr("coevo.benchmarks.statistics.bootstrap.CHUNK", 7 * X.size)
    assert replicate(X, mean, np.random.default_rng(3), 500).tolist() == whole.tolist()
    assert 500 * X.size < CHUNK  # the first call was one chunk


def test_seeds_shared_by_both_cancel(rng):
    seed = rng.normal(size=(6, 1))
    found = difference_interval(X[0] + seed, X[0] - 0.1 + seed, mean, rng, 500)
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))
    assert found.excludes(0)


def test_resampling_tasks_widens_the_interval(rng):
    scores = np.array([0.1, 0.5, 0.9]) + 0.01 * rng.normal(size=(5, 3))
    seeds = bootstrap_interval(scores, mean, rng, 2000)
    tasks = bootstrap_interval(scores, mean, rng, 2000, tasks=True)
    assert tasks.high - tasks.low > 10 * (seeds.high - seeds.low)


# ---- What is refused or undefined ------------------------------------------------------------


def test_one_run_has_no_interval(rng):
    for found in (
        bootstrap_interval([[0.5, 0.7]], mean, rng),
        difference_interval([[0.5]], [[0.4]], mean, rng),
        improvement_interval([[0.5]], [[0.4], [0.3]], rng),
    ):
        assert np.isnan([found.low, found.high]).all()
        assert not np.isnan(found.point)
        assert not found.excludes(1e9)
    assert np.isnan(profile_band([[0.5]], [0.1], rng).low).all()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mean([]), "scores is empty"),
        (lambda: median([[1, np.nan]]), "scores holds 1 NaN"),
        (lambda: mean([[1, 2], [3]]), "regular table"),
        (lambda: optimality_gap([np.inf]), "infinite"),
        (lambda: probability_of_improvement([[1, 2]], [[1]]), "not runs of the same tasks"),
        (lambda: difference_interval([1, 2], [1], mean, None), "shapes"),
        (lambda: replicate([1, 2], mean, np.random.default_rng(0), 0), "replicates=0"),
        (lambda: percentiles(np.arange(3.0), 95), "confidence=95"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ConfigError, match=said):
        call()


def test_an_interval_prints_its_number_of_runs():
    assert str(Interval(0.1, 0.2, 0.3, 5)) == "0.200 [0.100, 0.300] (n = 5)"
