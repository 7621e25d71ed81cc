"""How many seeds it takes to see a paired effect of a given size.

Effects are in standard deviations of the paired differences (d_z). statsmodels has the power of
the t test, which reaches any alpha; the sign-flip test has only 2^(n - 1) levels of p.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.random import Generator

from coevo.benchmarks.statistics.arrays import count, share

SIMULATED_UP_TO = 40
"""Most seeds for which the normal approximation is corrected by simulation."""


def paired_seeds(d_z: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the seeds with which the sign-flip test separates paired scores of effect d_z.

    (z_(1 - alpha/2) + z_power)^2 / d_z^2 + z_(1 - alpha/2)^2 / 2: normal approximation with
    Guenther's correction for small samples, and never fewer than can reach alpha at all.
    Infinite for no effect and beyond a billion, NaN for an undefined effect.

    >>> paired_seeds(1.0), paired_seeds(0.5), paired_seeds(9.0), paired_seeds(0.0)
    (10, 34, 6, inf)
    """
    if math.isnan(d_z):
        return math.nan
    normal = NormalDist()
    z = normal.inv_cdf(1 - share("alpha", alpha) / 2)
    wanted = (z + normal.inv_cdf(share("power", power))) ** 2
    needed = math.inf if d_z == 0 else wanted / d_z**2 + z**2 / 2
    return max(math.ceil(needed), math.ceil(1 - math.log2(alpha))) if needed < 1e9 else math.inf


def simulated_seeds(
    d_z: float,
    rng: Generator,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    trials: int = 1000,
) -> float:
    """Return the seeds with which the simulated sign-flip test separates d_z with this power.

    Upwards from `paired_seeds`, which few seeds leave too small. Above 40 seeds the approximation
    is kept.

    >>> simulated_seeds(1.5, np.random.default_rng(0))
    7
    """
    seeds = paired_seeds(d_z, alpha, power)
    while (
        seeds <= SIMULATED_UP_TO
        and sign_flip_power(d_z, int(seeds), rng, alpha=alpha, trials=trials) < power
    ):
        seeds += 1
    return seeds


def sign_flip_power(
    d_z: float, runs: int, rng: Generator, *, alpha: float = 0.05, trials: int = 2000
) -> float:
    """Return how often the sign-flip test separates simulated normal differences of effect d_z.

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
    differences = rng.normal(d_z, 1.0, size=(trials, runs))
    hits = np.array([(np.abs(signs @ d) >= abs(d.sum()) - 1e-9).sum() for d in differences])
    p = hits / len(signs) if exact else (hits + 1) / (len(signs) + 1)
    return float((p <= alpha).mean())
