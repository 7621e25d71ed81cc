"""How many seeds it takes to see an effect of a given size.

Effects are in standard deviations: of a score (unpaired) or of the paired differences (d_z).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
from numpy.random import Generator

from coevo.benchmarks.statistics.arrays import Array, count, share
from coevo.benchmarks.statistics.bootstrap import CHUNK

SIMULATED_UP_TO = 40
"""Most seeds for which the normal approximation is corrected by simulation."""


def unpaired_seeds(effect: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Seeds per algorithm that separate unpaired means `effect` standard deviations apart.

    2 (z_(1 - alpha/2) + z_power)^2 / effect^2, rounded up: the normal approximation, a seed or
    two short for large effects. Infinite for no effect.

    >>> unpaired_seeds(0.5), unpaired_seeds(1.0), unpaired_seeds(1.5)
    (63, 16, 7)
    """
    return _rounded_up(2 * _z_sum(alpha, power) ** 2, effect)


def paired_seeds(d_z: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Seeds with which the sign-flip test separates paired scores of effect d_z.

    (z_(1 - alpha/2) + z_power)^2 / d_z^2 + z_(1 - alpha/2)^2 / 2: normal approximation with
    Guenther's correction for small samples, and never fewer than can reach alpha at all.
    Infinite for no effect, NaN for an undefined one.

    >>> paired_seeds(1.0), paired_seeds(0.5), paired_seeds(9.0), paired_seeds(0.0)
    (10, 34, 6, inf)
    """
    if math.isnan(d_z):
        return math.nan
    correction = NormalDist().inv_cdf(1 - share("alpha", alpha) / 2) ** 2 / 2
    least = math.ceil(1 - math.log2(alpha))
    return max(_rounded_up(_z_sum(alpha, power) ** 2, d_z, correction), least)


def _z_sum(alpha: float, power: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - share("alpha", alpha) / 2) + normal.inv_cdf(share("power", power))


def _rounded_up(numerator: float, effect: float, extra: float = 0.0) -> float:
    """Whole numbers up to a billion; what lies beyond is never run."""
    needed = math.inf if effect == 0 else numerator / effect**2 + extra
    return math.ceil(needed) if needed < 1e9 else math.inf


def simulated_seeds(
    d_z: float,
    rng: Generator,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    trials: int = 1000,
) -> float:
    """Seeds with which the simulated sign-flip test separates an effect d_z with this power.

    Upwards from `paired_seeds`, which few seeds leave too small: the test has only 2^(n - 1)
    levels of p, so that no fewer than 1 + log2(1 / alpha) can do. Above 40 seeds the
    approximation is kept.

    >>> simulated_seeds(1.5, np.random.default_rng(0))
    7
    """
    seeds = max(paired_seeds(d_z, alpha, power), math.ceil(1 - math.log2(share("alpha", alpha))))
    while (
        seeds <= SIMULATED_UP_TO
        and sign_flip_power(d_z, int(seeds), rng, alpha=alpha, trials=trials) < power
    ):
        seeds += 1
    return seeds


def sign_flip_power(
    d_z: float, runs: int, rng: Generator, *, alpha: float = 0.05, trials: int = 2000
) -> float:
    """Simulate how often the sign-flip test separates normal differences of effect d_z.

    All sign patterns are counted where there are at most 50 / alpha, else so many are drawn.

    >>> rng = np.random.default_rng(0)
    >>> sign_flip_power(3.0, 5, rng), sign_flip_power(3.0, 9, rng) > 0.99
    (0.0, True)
    """
    count("trials", trials)
    count("runs", runs)
    if math.isinf(d_z):
        return float(2.0 ** (1 - runs) <= alpha)
    drawn = math.ceil(50 / share("alpha", alpha))
    exact = 2**runs <= drawn
    if exact:
        patterns = np.arange(2**runs)[:, None] >> np.arange(runs) & 1
    else:
        patterns = rng.integers(2, size=(drawn, runs))
    signs = (1 - 2 * patterns).astype(float)
    found = [
        (np.abs(d @ signs.T) >= np.abs(d.sum(-1, keepdims=True)) - 1e-9).sum(-1)
        for d in _normal_differences(rng, d_z, runs, trials, CHUNK // len(signs))
    ]
    hits = np.concatenate(found)
    p = hits / len(signs) if exact else (hits + 1) / (len(signs) + 1)
    return float((p <= alpha).mean())


def _normal_differences(
    rng: Generator, d_z: float, runs: int, trials: int, at_once: int
) -> Iterator[Array]:
    for start in range(0, trials, max(1, at_once)):
        yield rng.normal(d_z, 1.0, size=(min(max(1, at_once), trials - start), runs))
