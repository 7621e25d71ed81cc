"""Standard errors of means over questions or games, and the intervals that they give."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.special import stdtrit

from coevo.benchmarks.statistics.arrays import share
from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.envs.core.errors import ConfigError


def z_value(confidence: float) -> float:
    """Return the two-sided normal quantile."""
    return NormalDist().inv_cdf((1 + share("confidence", confidence)) / 2)


def clustered_error(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Return the standard error of a mean whose values come in dependent clusters.

    sqrt(C / (C - 1) * sum_c (sum_{i in c} (x_i - mean))^2) / N, with C clusters; NaN if C < 2.
    statsmodels' clustered least squares give the same, but its import would double the start of
    every evaluation.

    >>> clusters = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    >>> round(clustered_error([1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0], clusters), 7)
    0.2151657
    """
    x = np.asarray(values, dtype=float)
    place = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
    number = len(place)
    if number < 2:
        return math.nan
    sums = np.bincount([place[name] for name in clusters], weights=x - x.mean())
    return float(np.sqrt(number / (number - 1) * np.sum(sums**2)) / len(x))


@dataclass(frozen=True)
class SuiteScore:
    """Mean over questions, with what the questions leave uncertain."""

    interval: Interval
    """Mean and its t interval; `runs` is the number of clusters."""
    error: float
    """Standard error, clustered; NaN under two clusters."""
    scored: int
    unscored: int
    """Questions without a score (NaN), left out of the mean."""


def suite_score(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
) -> SuiteScore:
    """Return the mean of the estimates of questions; samples are never pooled over questions.

    Questions that share a passage or a task are one cluster and err together. The interval takes
    Student's t with one degree of freedom less than clusters. All scores NaN gives NaN. NaN is
    unscored; without clusters every question is its own.

    >>> score = suite_score([1, 0, 1, float("nan")])
    >>> str(score.interval), score.unscored
    ('0.667 [-0.768, 2.101] (n = 3)', 1)
    """
    x = np.asarray(values, dtype=float)
    names = list(range(len(x))) if clusters is None else list(clusters)
    if len(names) != len(x):
        raise ConfigError(f"{len(names)} clusters for {len(x)} questions")
    kept = np.flatnonzero(~np.isnan(x))
    apart = [names[i] for i in kept]
    number = len(set(apart))
    mean = float(x[kept].mean()) if number else math.nan
    error = clustered_error(x[kept].tolist(), apart)
    t = stdtrit(number - 1, (1 + share("confidence", confidence)) / 2) if number > 1 else math.nan
    interval = Interval(float(mean - t * error), mean, float(mean + t * error), number)
    return SuiteScore(interval, error, len(kept), len(x) - len(kept))
