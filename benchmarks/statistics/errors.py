"""Error bars of means and proportions over questions or games."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, stdtrit

from coevo.benchmarks.statistics.arrays import count, finite, share
from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.envs.core.errors import ConfigError


def z_value(confidence: float) -> float:
    """Give the two-sided normal quantile.

    >>> round(z_value(0.95), 6)
    1.959964
    """
    return NormalDist().inv_cdf((1 + share("confidence", confidence)) / 2)


def t_value(confidence: float, values: int) -> float:
    """Give the two-sided quantile of Student's t for a mean of some values; NaN for one.

    >>> round(t_value(0.95, 5), 4), round(t_value(0.95, 1000), 2)
    (2.7764, 1.96)
    """
    tail = (1 + share("confidence", confidence)) / 2
    return float(stdtrit(values - 1, tail)) if values > 1 else math.nan


def standard_error(values: ArrayLike) -> float:
    """Standard error of a mean of independent values: s / sqrt(n) with ddof 1; NaN for one.

    >>> round(standard_error([1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0]), 7)
    0.1507557
    """
    x = finite("values", values, ndim=1)
    return float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.nan


def clustered_error(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Give the standard error of a mean whose values come in dependent clusters.

    sqrt(C / (C - 1) * sum_c (sum_{i in c} (x_i - mean))^2) / N, with C clusters; NaN if C < 2.

    >>> clusters = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    >>> round(clustered_error([1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0], clusters), 7)
    0.2151657
    """
    x = np.asarray(values, dtype=float)
    place = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
    number = len(place)
    if number < 2:
        return math.nan
    index = [place[name] for name in clusters]
    sums = np.bincount(index, weights=x - x.mean(), minlength=number)
    return float(np.sqrt(number / (number - 1) * np.sum(sums**2)) / len(x))


class PairedDifference(NamedTuple):
    """Two models on the same questions."""

    difference: float
    """Mean of first minus second."""
    paired_error: float
    """Standard error of the mean of differences: the one to use."""
    unpaired_error: float
    """Standard error had the questions been different ones; larger where models agree."""


def paired_difference(first: ArrayLike, second: ArrayLike) -> PairedDifference:
    """Compare two models question by question. `paired.sign_flip` tests the difference.

    >>> a, b = [1, 1, 0, 1, 0, 1, 1, 0], [1, 0, 0, 1, 0, 1, 0, 0]
    >>> [round(x, 7) for x in paired_difference(a, b)]
    [0.25, 0.1636634, 0.2587746]
    """
    a, b = finite("first", first, ndim=1), finite("second", second, ndim=1)
    if a.shape != b.shape:
        raise ConfigError(f"{len(a)} scores cannot be paired with {len(b)}")
    apart = math.hypot(standard_error(a), standard_error(b))
    return PairedDifference(float((a - b).mean()), standard_error(a - b), apart)


@dataclass(frozen=True)
class SuiteScore:
    """Mean over questions, with what the questions leave uncertain."""

    interval: Interval
    """Mean and its t interval; `runs` is the number of clusters."""
    error: float
    """Standard error, clustered; NaN under two clusters."""
    scored: int
    """Questions that counted."""
    unscored: int
    """Questions without a score (NaN), left out of the mean."""


def suite_score(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
) -> SuiteScore:
    """Average the estimates of questions; samples are never pooled over questions.

    Questions that share a passage or a deal are one cluster and err together. The interval takes
    Student's t with one degree of freedom less than clusters. All scores NaN gives NaN.

    Args:
        values: one estimate per question, such as pass@k; NaN is unscored.
        clusters: which cluster each question is in; every question its own if left out.
        confidence: intended coverage.

    >>> score = suite_score([1, 0, 1, float("nan")])
    >>> str(score.interval), score.unscored
    ('0.667 [-0.768, 2.101] (n = 3)', 1)
    """
    x = np.asarray(values, dtype=float)
    names = list(range(len(x))) if clusters is None else list(clusters)
    if len(names) != len(x):
        raise ConfigError(f"{len(names)} clusters for {len(x)} questions")
    kept = [i for i in range(len(x)) if not math.isnan(x[i])]
    apart = [names[i] for i in kept]
    mean = float(x[kept].mean()) if kept else math.nan
    error = clustered_error(x[kept].tolist(), apart) if kept else math.nan
    number = len(set(apart))
    width = t_value(confidence, number) * error
    interval = Interval(mean - width, mean, mean + width, number, confidence)
    return SuiteScore(interval, error, len(kept), len(x) - len(kept))


def wilson(successes: float, trials: int, confidence: float = 0.95) -> Interval:
    """Give a proportion with Wilson's interval, sound near 0 and 1 where the normal one is not.

    >>> str(wilson(12, 30))
    '0.400 [0.246, 0.577] (n = 30)'
    """
    p, n = _proportion(successes, trials), trials
    z = z_value(confidence)
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return Interval(max(0.0, centre - half), p, min(1.0, centre + half), n, confidence)


def clopper_pearson(successes: float, trials: int, confidence: float = 0.95) -> Interval:
    """Give a proportion with the exact binomial interval; never covers less than it says.

    Fractional successes (draws that count half) interpolate between the binomial ones.

    >>> str(clopper_pearson(0, 30))
    '0.000 [0.000, 0.116] (n = 30)'
    """
    p, tail = _proportion(successes, trials), (1 - share("confidence", confidence)) / 2
    misses = trials - successes
    low = float(betaincinv(successes, misses + 1, tail)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, misses, 1 - tail)) if misses > 0 else 1.0
    return Interval(low, p, high, trials, confidence)


def hoeffding_width(trials: int, delta: float) -> float:
    """Half-width that the mean of values in [0, 1] leaves with chance delta at most.

    sqrt(log(2 / delta) / (2 n)).

    >>> round(hoeffding_width(100, 0.01), 7)
    0.1627624
    """
    return math.sqrt(math.log(2 / share("delta", delta)) / (2 * count("trials", trials)))


def games_for_margin(margin: float, confidence: float = 0.95) -> int:
    """Games after which an even win rate is known to +- margin: z^2 / (4 margin^2), rounded up.

    >>> games_for_margin(0.05), games_for_margin(0.03)
    (385, 1068)
    """
    return math.ceil((z_value(confidence) / (2 * share("margin", margin))) ** 2)


def _proportion(successes: float, trials: int) -> float:
    if not 0 <= successes <= count("trials", trials):
        raise ConfigError(f"{successes} successes of {trials} trials are impossible")
    return successes / trials
