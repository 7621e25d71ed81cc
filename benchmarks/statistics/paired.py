"""Two algorithms on the same seeds: an exact test of the differences and the interval that fits it.

d_s is the score of A minus that of B at seed s (the mean over tasks). If A and B were the same,
d_s would be as likely as -d_s: flipping signs gives the distribution of the mean, with no
assumption about its shape. On answers to the same questions this is McNemar's exact test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import Array, count, finite, share
from coevo.benchmarks.statistics.bootstrap import CHUNK, Interval
from coevo.envs.core.errors import ConfigError

DRAWS = 100_000
"""Sign patterns drawn where there are more; up to 16 differences have fewer, and all are listed."""


def smallest_p(runs: int) -> float:
    """Return the smallest two-sided p of the sign-flip test: 2 / 2^n, and 1 for a single run."""
    return 2.0 ** (1 - count("runs", runs))


def sign_flip(differences: ArrayLike, rng: Generator | None = None, *, draws: int = DRAWS) -> float:
    """Return the two-sided p that the mean of paired differences is 0.

    The share of sign patterns whose mean is at least as far from 0 as the observed one, over all
    2^n patterns if these are at most `draws`; else (1 + hits) / (1 + draws), never 0.

    >>> sign_flip([0.07, 0.01, 0.08, 0.06, -0.01, 0.07])
    0.09375
    """
    from scipy import stats  # half a second, which not every command needs

    d = finite("differences", differences, ndim=1)
    if len(d) == 1:
        return 1.0
    unit = np.abs(d).sum() or 1.0

    def distance(flipped: Any, axis: int) -> Array:
        """Round, so that means which are equal but for their last digit tie."""
        return np.asarray(np.round(np.abs(flipped.sum(axis=axis)) / unit, 12))

    found = stats.permutation_test(
        (d,),
        distance,
        permutation_type="samples",
        n_resamples=draws,
        batch=max(1, CHUNK // len(d)),
        vectorized=True,
        alternative="greater",
        rng=None if _listed(d, draws) else _needed(rng, len(d)),
    )
    return float(found.pvalue)


def sign_flip_interval(
    differences: ArrayLike,
    confidence: float = 0.95,
    rng: Generator | None = None,
    *,
    draws: int = DRAWS,
) -> Interval:
    """Return every mean difference that the sign-flip test does not reject.

    These lie between two of the 2^n - 1 means of subsets of the differences: the k-th from either
    end, k = floor((1 - confidence) 2^(n - 1)) (Hartigan 1969, "typical values"; no library has
    them). The interval excludes 0 exactly where the test rejects, and covers at least `confidence`
    of the time for any n where differences are symmetric about their mean. Too few runs leave it
    unbounded.

    >>> str(sign_flip_interval([0.07, 0.01, 0.08, 0.06, -0.01, 0.07]))
    '0.047 [-0.010, 0.080] (n = 6)'
    >>> str(sign_flip_interval([0.07, 0.01, 0.08, 0.06, -0.01]))
    '0.042 [-inf, inf] (n = 5)'
    """
    d = finite("differences", differences, ndim=1)
    tail = (1 - share("confidence", confidence)) / 2
    if _listed(d, draws):
        chosen = np.arange(1, 2 ** len(d))[:, None] >> np.arange(len(d)) & 1
    else:
        chosen = _needed(rng, len(d)).integers(2, size=(draws, len(d)))
        chosen = chosen[chosen.any(-1)]
    means = (chosen @ d) / chosen.sum(-1)
    k = int(tail * (len(means) + 1) + 1e-9)
    if k == 0:
        return Interval(-math.inf, float(d.mean()), math.inf, len(d))
    ordered = np.partition(means, (k - 1, len(means) - k))
    low, high = float(ordered[k - 1]), float(ordered[len(means) - k])
    return Interval(low, float(d.mean()), high, len(d))


def _listed(d: Array, draws: int) -> bool:
    return 2 ** len(d) <= draws


def _needed(rng: Generator | None, runs: int) -> Generator:
    if rng is None:
        raise ConfigError(f"{runs} differences have too many sign patterns to list: pass rng")
    return rng


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
    """Return the size of the differences between two algorithms on the same seeds.

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
    vary = len(a) > 1 and a.std() > 0 and b.std() > 0
    correlation = float(np.corrcoef(a, b)[0, 1]) if vary else math.nan
    return PairedEffect(mean, sd, mean / sd if sd > 0 else math.nan, correlation)
