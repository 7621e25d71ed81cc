"""Two algorithms on the same seeds: an exact test of the differences and the interval that fits it.

d_s is the score of A minus that of B at seed s (the mean over tasks). If A and B were the same,
d_s would be as likely as -d_s: flipping signs gives the distribution of the mean, with no
assumption about its shape. On answers to the same questions this is McNemar's exact test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import Array, count, finite, share
from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.envs.core.errors import ConfigError

EXACT_UP_TO = 20
"""Most differences of which all 2^n sign patterns are listed (a million)."""
DRAWS = 100_000
"""Sign patterns drawn where there are more."""


@dataclass(frozen=True)
class SignFlip:
    """Result of the sign-flip test."""

    difference: float
    """Mean of the differences."""
    p: float
    """Two-sided: share of sign patterns whose mean is at least as far from 0."""
    p_greater: float
    """One-sided: share of sign patterns whose mean is at least as large."""
    runs: int
    """Number of differences."""
    exact: bool
    """Whether all patterns were counted; else a sample, the observed one included."""

    @property
    def smallest_p(self) -> float:
        """Smallest p that this many differences can give; 5 runs cannot reach 0.05."""
        return smallest_p(self.runs)


def smallest_p(runs: int) -> float:
    """Give the smallest two-sided p of the sign-flip test: 2 / 2^n, and 1 for a single run.

    >>> smallest_p(5), smallest_p(6)
    (0.0625, 0.03125)
    """
    return 2.0 ** (1 - count("runs", runs))


def sign_flip(
    differences: ArrayLike,
    rng: Generator | None = None,
    *,
    exact_up_to: int = EXACT_UP_TO,
    draws: int = DRAWS,
) -> SignFlip:
    """Test whether the mean of paired differences is 0.

    Args:
        differences: one per seed.
        rng: needed above `exact_up_to` differences.
        exact_up_to: most differences of which every sign pattern is counted.
        draws: patterns drawn where there are more; p = (1 + hits) / (1 + draws), never 0.

    >>> result = sign_flip([0.07, 0.01, 0.08, 0.06, -0.01, 0.07])
    >>> result.p, result.p_greater
    (0.09375, 0.046875)
    """
    d = finite("differences", differences, ndim=1)
    exact = len(d) <= exact_up_to
    sums = _all_sums(d) if exact else _drawn_sums(d, _needed(rng, len(d)), draws)
    rounding = 1e-12 * np.abs(d).sum()
    observed, extra = d.sum(), 0 if exact else 1
    far = int((np.abs(sums) >= abs(observed) - rounding).sum()) + extra
    above = int((sums >= observed - rounding).sum()) + extra
    total = len(sums) + extra
    return SignFlip(float(d.mean()), far / total, above / total, len(d), exact)


def sign_flip_interval(
    differences: ArrayLike,
    confidence: float = 0.95,
    rng: Generator | None = None,
    *,
    exact_up_to: int = EXACT_UP_TO,
    draws: int = DRAWS,
) -> Interval:
    """Give every mean difference that the sign-flip test does not reject.

    These lie between two of the 2^n - 1 means of subsets of the differences: the k-th from either
    end, k = floor((1 - confidence) 2^(n - 1)) (Hartigan 1969, "typical values"). The interval
    excludes 0 exactly where the test rejects, and covers at least `confidence` of the time for
    any n where differences are symmetric about their mean. Too few runs leave it unbounded.

    >>> str(sign_flip_interval([0.07, 0.01, 0.08, 0.06, -0.01, 0.07]))
    '0.047 [-0.010, 0.080] (n = 6)'
    >>> str(sign_flip_interval([0.07, 0.01, 0.08, 0.06, -0.01]))
    '0.042 [-inf, inf] (n = 5)'
    """
    d = finite("differences", differences, ndim=1)
    tail = (1 - share("confidence", confidence)) / 2
    exact = len(d) <= exact_up_to
    means = _all_means(d) if exact else _drawn_means(d, _needed(rng, len(d)), draws)
    k = int(tail * (len(means) + 1) + 1e-9)
    if k == 0:
        return Interval(-math.inf, float(d.mean()), math.inf, len(d), confidence)
    ordered = np.partition(means, (k - 1, len(means) - k))
    low, high = float(ordered[k - 1]), float(ordered[len(means) - k])
    return Interval(low, float(d.mean()), high, len(d), confidence)


@dataclass(frozen=True)
class PairedEffect:
    """Size of a paired difference."""

    difference: float
    """Mean difference, in units of the score: report this first."""
    sd: float
    """Standard deviation of the differences (ddof 1); NaN for a single one."""
    d_z: float
    """difference / sd; NaN where sd is 0 or undefined."""
    correlation: float
    """Of the two scores over seeds: near 0, shared seeds pair nothing. NaN if one is constant."""


def paired_effect(first: ArrayLike, second: ArrayLike) -> PairedEffect:
    """Describe the differences between two algorithms on the same seeds.

    >>> paired_effect([1.0, 2.0, 3.0], [0.0, 1.5, 1.5])
    PairedEffect(difference=1.0, sd=0.5, d_z=2.0, correlation=0.8660254037844387)
    """
    a, b = finite("first", first, ndim=1), finite("second", second, ndim=1)
    if a.shape != b.shape:
        raise ConfigError(f"{len(a)} scores cannot be paired with {len(b)}")
    d = a - b
    sd = float(d.std(ddof=1)) if len(d) > 1 else math.nan
    if sd <= 1e-12 * np.abs(d).max():
        sd = 0.0  # differences that are equal up to rounding
    mean = float(d.mean())
    return PairedEffect(mean, sd, mean / sd if sd > 0 else math.nan, _correlation(a, b))


def _correlation(a: Array, b: Array) -> float:
    if len(a) < 2 or a.std() == 0 or b.std() == 0:
        return math.nan
    return float(np.corrcoef(a, b)[0, 1])


def _needed(rng: Generator | None, runs: int) -> Generator:
    if rng is None:
        raise ConfigError(f"{runs} differences have too many sign patterns to list: pass rng")
    return rng


def _all_sums(d: Array) -> Array:
    sums = np.zeros(1)
    for x in d:
        sums = np.concatenate([sums + x, sums - x])
    return sums


def _drawn_sums(d: Array, rng: Generator, draws: int) -> Array:
    return (rng.integers(2, size=(draws, len(d))) * 2 - 1) @ d


def _all_means(d: Array) -> Array:
    sums, sizes = np.zeros(1), np.zeros(1)
    for x in d:
        sums, sizes = np.concatenate([sums, sums + x]), np.concatenate([sizes, sizes + 1])
    return sums[1:] / sizes[1:]


def _drawn_means(d: Array, rng: Generator, draws: int) -> Array:
    chosen = rng.integers(2, size=(draws, len(d)))
    chosen = chosen[chosen.any(-1)]
    return (chosen @ d) / chosen.sum(-1)
