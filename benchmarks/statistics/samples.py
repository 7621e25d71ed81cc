"""Several samples per question: pass@k and its relatives, from n samples of which c are correct.

Each is the expectation over all subsets of k of the n samples, hence unbiased; with n < k it is
undefined and NaN. pass@1 at temperature 0 and avg@n at temperature 1 are different quantities:
print the temperature beside either.
"""

from __future__ import annotations

import math
from math import comb

from coevo.benchmarks.statistics.arrays import count
from coevo.envs.core.errors import ConfigError


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that k samples hold a correct one: 1 - C(n-c, k) / C(n, k) (Chen et al. 2021).

    The plug-in 1 - (1 - c/n)^k is biased downwards.

    >>> round(pass_at_k(10, 3, 5), 7), pass_at_k(3, 3, 5)
    (0.9166667, nan)
    """
    return math.nan if _undefined(n, c, k) else 1 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Chance that all k samples are correct: C(c, k) / C(n, k), written pass^k.

    >>> round(pass_hat_k(16, 4, 4), 10)
    0.0005494505
    """
    return math.nan if _undefined(n, c, k) else comb(c, k) / comb(n, k)


def g_pass_at_k(n: int, c: int, k: int, threshold: float) -> float:
    """Chance that at least a share `threshold` of k samples is correct (G-pass@k).

    sum over j >= max(1, ceil(threshold k)) of C(c, j) C(n-c, k-j) / C(n, k). Towards threshold 0
    it is pass@k, at 1 it is pass^k.

    >>> round(g_pass_at_k(16, 8, 8, 0.5), 7)
    0.6903652
    """
    if not 0 <= threshold <= 1:
        raise ConfigError(f"threshold={threshold} must lie between 0 and 1")
    if _undefined(n, c, k):
        return math.nan
    least = max(1, math.ceil(threshold * k - 1e-9))
    ways = sum(comb(c, j) * comb(n - c, k - j) for j in range(least, min(c, k) + 1))
    return ways / comb(n, k)


def avg_at_k(n: int, c: int, k: int) -> float:
    """Mean correctness of k samples: c / n whatever k; also called mean@k.

    The only one of the family that is linear in the accuracy of a sample.

    >>> avg_at_k(8, 2, 4), avg_at_k(8, 2, 16)
    (0.25, nan)
    """
    return math.nan if _undefined(n, c, k) else c / n


def _undefined(n: int, c: int, k: int) -> bool:
    """Check the counts; tell whether there are too few samples."""
    if not 0 <= count("c", c, least=0) <= count("n", n):
        raise ConfigError(f"{c} correct of {n} samples is impossible")
    return n < count("k", k)
