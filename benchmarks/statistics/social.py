"""Social outcomes of an episode (Perolat et al. 2017), from rewards [agents, turns] or returns.

Undefined is NaN: code that returns an equality of 1 for returns that sum to nothing hides
disasters.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import finite


def efficiency(rewards_NT: ArrayLike) -> float:
    """Return the sum of all returns per turn: sum_i R_i / T.

    >>> efficiency([[1, 0, 1, 0, 1], [0, 0, 1, 1, 0]])
    1.0
    """
    rewards = finite("rewards", rewards_NT, ndim=2)
    return float(rewards.sum() / rewards.shape[1])


def equality(returns_N: ArrayLike) -> float:
    """Return 1 - Gini: 1 - sum_ij |R_i - R_j| / (2 N sum R), between 1/N and 1.

    NaN where a return is negative or all are 0.

    >>> equality([4, 2, 2, 0]), equality([8, 0, 0, 0]), equality([0, 0])
    (0.625, 0.25, nan)
    """
    r = finite("returns", returns_N, ndim=1)
    if (r < 0).any() or r.sum() <= 0:
        return math.nan
    return float(1 - np.abs(r[:, None] - r).sum() / (2 * len(r) * r.sum()))


def sustainability(rewards_NT: ArrayLike) -> float:
    """Return the mean over agents of their mean turn (from 1) with a positive reward.

    Agents without any positive reward do not count; NaN if nobody has one.

    >>> sustainability([[1, 0, 1, 0, 1], [0, 0, 1, 1, 0]])
    3.25
    """
    rewards = finite("rewards", rewards_NT, ndim=2)
    times = [np.flatnonzero(r > 0).mean() + 1 for r in rewards if (r > 0).any()]
    return float(np.mean(times)) if times else math.nan


def peace(sanctioned_NT: ArrayLike) -> float:
    """Return the mean number of agents not under a sanction: (N T - agent-turns sanctioned) / T.

    >>> peace([[0, 1], [0, 0]])
    1.5
    """
    sanctioned = finite("sanctioned", sanctioned_NT, ndim=2) != 0
    return float((~sanctioned).sum() / sanctioned.shape[1])


def exploitation_gap(focal: float, background: float) -> float:
    """Return what a focal agent gets per head above a background agent; large is prey on the kind.

    >>> exploitation_gap(5.0, 2.0)
    3.0
    """
    return focal - background
