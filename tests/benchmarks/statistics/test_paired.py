"""Paired tests, families of comparisons and power."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from coevo.benchmarks.statistics.paired import (
    paired_effect,
    sign_flip,
    sign_flip_interval,
    smallest_p,
)
from coevo.benchmarks.statistics.power import (
    paired_seeds,
    sign_flip_power,
    simulated_seeds,
)
from coevo.benchmarks.statistics.score_table import Score, score_table
from coevo.benchmarks.statistics.verdicts import compare_all, holm
from coevo.envs.core.errors import ConfigError

A = np.array([0.62, 0.58, 0.71, 0.66, 0.60, 0.69])
B = np.array([0.55, 0.57, 0.63, 0.60, 0.61, 0.62])

differences = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=9)


# ---- The sign-flip test ----------------------------------------------------------------------


def test_the_worked_example():
    test, effect = sign_flip(A - B), paired_effect(A, B)
    assert test == 0.09375
    assert effect.difference == pytest.approx(0.0466667, abs=1e-7)
    assert effect.sd == pytest.approx(0.0372380, abs=1e-7)
    assert effect.d_z == pytest.approx(1.2532010, abs=1e-7)
    assert effect.correlation == pytest.approx(0.7007164, abs=1e-7)


def test_the_other_tests_of_the_worked_example_disagree_as_published():
    t = stats.ttest_rel(A, B)
    assert (t.statistic, t.pvalue) == pytest.approx((3.0697031, 0.0277932), abs=1e-6)
    assert t.confidence_interval() == pytest.approx((0.0075878, 0.0857456), abs=1e-6)
    # d_z and n are all that t is made of, so our effect must give the same
    assert paired_effect(A, B).d_z * math.sqrt(6) == pytest.approx(t.statistic)
    welch = stats.ttest_ind(A, B, equal_var=False)
    assert (welch.statistic, welch.pvalue) == pytest.approx((1.9016404, 0.0930437), abs=1e-6)
    assert stats.wilcoxon(np.round(A - B, 9)).pvalue == pytest.approx(sign_flip(A - B))
    assert sign_flip(A - B) > 0.05 > t.pvalue


def test_answers_to_the_same_questions_give_mcnemars_exact_test():
    a, b = np.array([1, 1, 0, 1, 0, 1, 1, 0]), np.array([1, 0, 0, 1, 0, 1, 0, 0])
    assert sign_flip(a - b) == 0.5


@pytest.mark.parametrize(("n", "p"), [(5, 0.0625), (6, 0.03125), (8, 0.0078125), (10, 0.001953125)])
def test_the_smallest_p_of_worked_examples_is_reached(n, p):
    assert smallest_p(n) == p
    assert sign_flip(np.arange(1.0, n + 1)) == p


@given(differences)
def test_it_counts_every_sign_pattern(d):
    means = [abs(np.dot(signs, d)) for signs in product((1, -1), repeat=len(d))]
    expected = np.mean([m >= abs(sum(d)) for m in means])
    assert sign_flip(d) == expected


@given(differences)
def test_order_direction_and_unit_do_not_matter(d):
    p = sign_flip(d)
    assert sign_flip(d[::-1]) == p
    assert sign_flip([-x for x in d]) == p
    assert sign_flip([x / 7 for x in d]) == p  # sevenths tie only up to rounding


def test_a_sample_of_patterns_estimates_the_exact_p(rng):
    d = rng.normal(0.4, size=15)
    exact, sampled = sign_flip(d), sign_flip(d, rng, draws=30_000)
    assert exact != sampled == pytest.approx(exact, abs=0.008)
    assert sign_flip(np.ones(40), rng, draws=99) == 0.01  # never 0


def test_no_difference_at_all_gives_p_one():
    assert sign_flip([0.0, 0.0]) == 1


# ---- Its interval ----------------------------------------------------------------------------


@given(st.lists(st.integers(-30, 60), min_size=6, max_size=8, unique=True), st.integers(-40, 70))
def test_the_interval_holds_what_the_test_does_not_reject(d, value):
    interval = sign_flip_interval(d, 0.9)
    value += 0.3141  # off the bounds, where both decisions are right
    rejected = sign_flip(np.array(d) - value) <= 0.1
    assert (not interval.low <= value <= interval.high) == rejected


def test_too_few_runs_leave_the_interval_unbounded():
    interval = sign_flip_interval([0.1, 0.2, 0.1, 0.2, 0.1])
    assert (interval.low, interval.high) == (-math.inf, math.inf)


def test_a_sampled_interval_is_close_to_the_exact_one(rng):
    d = rng.normal(0.5, size=16)
    exact, sampled = sign_flip_interval(d), sign_flip_interval(d, rng=rng, draws=60_000)
    assert (sampled.low, sampled.high) == pytest.approx((exact.low, exact.high), abs=0.02)


def test_the_interval_covers_as_it_says():
    rng = np.random.default_rng(5)
    held = [
        (i := sign_flip_interval(rng.standard_t(3, size=7))).low <= 0 <= i.high for _ in range(2000)
    ]
    assert np.mean(held) + 2 * 0.005 >= 0.95
    assert np.mean(held) < 0.985


# ---- Families and power ----------------------------------------------------------------------


def test_holm_of_worked_examples():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_lies_between_the_raw_p_and_bonferroni(p):
    adjusted = holm(p)
    assert (adjusted >= np.array(p) - 1e-12).all()
    assert (adjusted <= np.minimum(1, len(p) * np.array(p)) + 1e-12).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


def test_paired_power_of_worked_examples():
    """Seed effect sd 1, noise 0.5, true gap 0.75: power 0.835 with ten seeds, 0 with five."""
    d_z = 0.75 / math.sqrt(2 * 0.5**2)
    rng = np.random.default_rng(1)
    assert sign_flip_power(d_z, 10, rng, trials=4000) == pytest.approx(0.835, abs=0.03)
    assert sign_flip_power(d_z, 5, rng) == 0  # where the t test has 0.437


@pytest.mark.parametrize("d_z", [0.6, 1.0, 1.5])
def test_the_seeds_needed_have_the_power_that_was_asked_for(d_z):
    rng = np.random.default_rng(2)
    needed = int(simulated_seeds(d_z, rng))
    assert paired_seeds(d_z) <= needed <= paired_seeds(d_z) + 2
    assert sign_flip_power(d_z, needed, rng, trials=4000) > 0.78
    assert sign_flip_power(d_z, needed - 2, rng, trials=4000) < 0.8


def test_many_seeds_are_not_simulated(rng):
    assert simulated_seeds(0.1, rng) == paired_seeds(0.1) == 787
    assert simulated_seeds(0.0, rng) == math.inf


def test_a_smaller_alpha_needs_more_seeds_than_reach_it(rng):
    assert paired_seeds(math.inf, alpha=0.05 / 21) == 10
    assert sign_flip_power(math.inf, 9, rng, alpha=0.05 / 21) == 0
    assert sign_flip_power(math.inf, 10, rng, alpha=0.05 / 21) == 1


def test_power_without_an_effect_is_the_size_of_the_test():
    rng = np.random.default_rng(3)
    assert sign_flip_power(0.0, 8, rng, trials=8000) == pytest.approx(0.05, abs=0.012)


# ---- Verdicts --------------------------------------------------------------------------------


def scores(**scores):
    for name, values in scores.items():
        for seed, value in enumerate(values):
            yield Score(name, "easy", seed, value)
            yield Score(name, "hard", seed, value / 2)


def test_a_difference_that_every_seed_shows_is_separated(rng):
    base = rng.normal(0.5, 0.1, size=10)
    table = score_table(scores(old=base, new=base + np.linspace(0.1, 0.3, 10), same=base + 1e-3))
    found, none = compare_all(table, [("new", "old"), ("old", "new")], rng, replicates=500)
    assert found.separated and none.separated
    assert found.p == 2 / 1024 and found.p_adjusted == 4 / 1024
    assert found.verdict.startswith("new is better than old by 0.15 (p = 0.0039 after Holm over 2")
    assert none.verdict.startswith("new is better than old by 0.15")
    assert found.interval.low > 0
    assert found.effect.correlation > 0.5
    assert found.improvement.point > 0.5


def test_noise_is_not_separated_and_says_how_many_seeds_it_would_take(rng):
    table = score_table(scores(a=A, b=B))
    (found,) = compare_all(table, [("a", "b")], rng, replicates=500)
    assert not found.separated
    assert found.seeds_needed == 8
    assert "not separated: no difference detected with n = 6 (p = 0.094" in found.verdict
    assert "about 8 seeds would separate" in found.verdict


def test_correction_can_undo_a_separation(rng):
    low = np.zeros(6)
    high = np.array([0.1, 0.2, 0.15, 0.1, 0.12, 0.1])
    other = np.array([0.1, -0.1, 0.1, -0.1, 0.2, -0.2])
    table = score_table(scores(low=low, high=high, other=other))
    alone = compare_all(table, [("high", "low")], rng, replicates=100)
    both = compare_all(table, [("high", "low"), ("other", "low")], rng, replicates=100)
    assert alone[0].separated
    assert not both[0].separated
    assert "8 seeds" in both[0].verdict or "7 seeds" in both[0].verdict


@pytest.mark.parametrize(
    ("gap", "seeds", "said"),
    [
        ([0.0], 8, "no number of seeds would separate it"),
        ([0.1], 4, "about 6 seeds would separate"),
        ([0.1], 1, "one seed does not tell"),
    ],
)
def test_a_constant_difference_is_put_into_words(rng, gap, seeds, said):
    base = np.linspace(0, 1, seeds)
    table = score_table(scores(a=base + gap[0], b=base))
    (found,) = compare_all(table, [("a", "b")], rng, replicates=100)
    assert said in found.verdict


def test_bad_families_are_named(rng):
    table = score_table(scores(a=A, b=B))
    with pytest.raises(ConfigError, match="no pairs to compare"):
        compare_all(table, [], rng)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: sign_flip([1.0, np.nan]), "NaN"),
        (lambda: sign_flip(np.ones(21)), "21 differences have too many sign patterns"),
        (lambda: paired_effect([1, 2], [1]), "cannot be paired"),
        (lambda: holm([0.5, 1.5]), "between 0 and 1"),
        (lambda: paired_seeds(1, alpha=0), "alpha=0"),
        (lambda: paired_seeds(1, power=1), "power=1"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ConfigError, match=said):
        call()


def test_undefined_effects_are_nan():
    assert math.isnan(paired_effect([1.0], [0.5]).d_z)
    assert math.isnan(paired_effect([1.0, 2.0], [0.9, 1.9]).d_z)  # the same up to rounding
    assert math.isnan(paired_seeds(math.nan))
