"""pass@k, maj@k and error bars."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.regression.linear_model import OLS

from coevo.benchmarks.statistics.samples import avg_at_k, maj_at_k, pass_at_k, pass_hat_k
from coevo.benchmarks.statistics.standard_errors import suite_score
from coevo.envs.core.errors import ConfigError

counts = st.integers(1, 9).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))
)


# ---- Several samples -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "c", "k", "some", "all_right"),
    [
        (10, 3, 1, 0.3, 0.3),
        (10, 3, 5, 0.9166667, 0),
        (10, 3, 8, 1, 0),
        (16, 4, 4, 0.7280220, 0.0005494505),
        (200, 10, 100, 0.9992290, 0),
    ],
)
def test_the_table_of_worked_examples(n, c, k, some, all_right):
    assert pass_at_k(n, c, k) == pytest.approx(some, abs=1e-7)
    assert pass_hat_k(n, c, k) == pytest.approx(all_right, abs=1e-10)
    assert avg_at_k(n, c, k) == c / n


def test_the_estimate_is_unbiased_and_the_plug_in_is_not():
    chances = [math.comb(10, c) * 0.3**c * 0.7 ** (10 - c) for c in range(11)]
    unbiased = sum(p * pass_at_k(10, c, 5) for c, p in enumerate(chances))
    plug_in = sum(p * (1 - (1 - c / 10) ** 5) for c, p in enumerate(chances))
    assert unbiased == pytest.approx(1 - 0.7**5) == pytest.approx(0.83193)
    assert plug_in == pytest.approx(0.7597402, abs=1e-7)


@given(counts)
def test_they_are_means_over_all_subsets(given_counts):
    n, c, k = given_counts
    subsets = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(np.mean([any(s) for s in subsets]))
    assert pass_hat_k(n, c, k) == pytest.approx(np.mean([all(s) for s in subsets]))


@given(counts)
def test_more_samples_help_one_and_hurt_the_other(given_counts):
    n, c, k = given_counts
    if k < n:
        assert pass_at_k(n, c, k) <= pass_at_k(n, c, k + 1) + 1e-12
        assert pass_hat_k(n, c, k) >= pass_hat_k(n, c, k + 1) - 1e-12


@pytest.mark.parametrize("estimate", [pass_at_k, pass_hat_k, avg_at_k])
def test_too_few_samples_are_undefined(estimate):
    assert math.isnan(estimate(4, 4, 5))
    for n, c, k in ((4, 5, 1), (4, -1, 1), (0, 0, 1), (4, 1, 0), (4, 1.5, 1)):
        with pytest.raises(ConfigError):
            estimate(n, c, k)


def test_an_untrained_model_and_its_collapse():
    """Eight answers, gold the first one on 40 % of the questions and spread over the rest."""
    gold = [0.4] + [0.6 / 7] * 7
    uniform = [1 / 8] * 8
    assert sum(g * p for g, p in zip(gold, uniform, strict=True)) == pytest.approx(0.125)
    spread = sum(g * (1 - (1 - p) ** 8) for g, p in zip(gold, uniform, strict=True))
    assert spread == pytest.approx(0.6563911, abs=1e-7)
    # collapsed on the most frequent gold answer, every sample of a question is the same
    suite = [pass_at_k(8, 8, 8)] * 4 + [pass_at_k(8, 0, 8)] * 6
    assert suite_score(suite).interval.point == pytest.approx(0.4)


# ---- Votes -----------------------------------------------------------------------------------


def test_votes_of_worked_examples():
    found = [maj_at_k(list("AABCB"), "A", k) for k in (1, 3, 5)]
    assert found == pytest.approx([0.4, 0.4333333, 0.5], abs=1e-7)
    answers = [7, 7, 7, 3, 5, 3, 9, 7]
    right = [maj_at_k(answers, 7, k) for k in (1, 3, 5, 8)]
    wrong = [maj_at_k(answers, 3, k) for k in (1, 3, 5, 8)]
    assert right == pytest.approx([0.5, 0.6190476, 0.8214286, 1], abs=1e-7)
    assert wrong == pytest.approx([0.25, 0.2142857, 0.1785714, 0], abs=1e-7)
    passed = [pass_at_k(8, 2, k) for k in (1, 3, 5, 8)]
    assert passed == pytest.approx([0.25, 0.6428571, 0.8928571, 1], abs=1e-7)


def plurality(answers, gold):
    votes = {a: answers.count(a) for a in set(answers)}
    best = [a for a, n in votes.items() if n == max(votes.values())]
    return (gold in best) / len(best)


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=7), st.data())
def test_votes_are_means_over_all_subsets(answers, data):
    k = data.draw(st.integers(1, len(answers)))
    expected = np.mean([plurality(list(s), "a") for s in combinations(answers, k)])
    assert maj_at_k(answers, "a", k) == pytest.approx(expected)


def test_votes_add_up_to_one_over_the_answers(rng):
    answers = rng.integers(6, size=64).tolist()
    assert sum(maj_at_k(answers, gold, 32) for gold in range(6)) == pytest.approx(1)


def test_unreadable_answers_vote_together_and_never_rightly():
    assert maj_at_k([None, None, "a"], "a", 3) == 0
    assert maj_at_k(["b", "c", "a"], "a", 3) == pytest.approx(1 / 3)
    with pytest.raises(ConfigError, match="gold answer is None"):
        maj_at_k([None], None, 1)
    with pytest.raises(ConfigError, match="no answers"):
        maj_at_k([], "a", 1)
    assert math.isnan(maj_at_k(["a"], "a", 2))


# ---- Error bars ------------------------------------------------------------------------------


CLUSTERED = [1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0]


def test_clustered_errors_of_worked_examples():
    score = suite_score(CLUSTERED, ["a"] * 3 + ["b"] * 3 + ["c"] * 3 + ["d"] * 3)
    assert score.error == pytest.approx(0.2151657, abs=1e-7)
    assert score.interval.point == 0.5
    assert score.interval.runs == 4
    assert score.interval.high == pytest.approx(0.5 + 3.182446 * 0.2151657, abs=1e-6)
    assert suite_score(CLUSTERED).error == pytest.approx(0.1507557, abs=1e-7)


def test_unscored_questions_are_counted_and_left_out():
    score = suite_score([1.0, math.nan, 0.0, math.nan], ["a", "b", "c", "a"])
    assert (score.scored, score.unscored, score.interval.point) == (2, 2, 0.5)
    nothing = suite_score([math.nan])
    assert nothing.scored == 0
    assert math.isnan(nothing.interval.point)


def test_one_cluster_has_no_error():
    assert math.isnan(suite_score([1.0, 0.0], ["a", "a"]).interval.low)


def test_statsmodels_finds_the_same_clustered_error(rng):
    values, clusters = rng.normal(size=40), rng.integers(7, size=40)
    fitted = OLS(values, np.ones(40)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    error = suite_score(values.tolist(), clusters.tolist()).error
    assert error == pytest.approx(fitted.bse[0])


def test_every_question_needs_a_cluster():
    with pytest.raises(ConfigError, match="2 clusters for 1"):
        suite_score([1.0], ["a", "b"])
