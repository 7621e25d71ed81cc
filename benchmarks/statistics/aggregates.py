"""One number for a table of runs: X[..., runs, tasks] -> [...].

Leading axes are replicates of the bootstrap. A vector counts as the runs of one task.
The four aggregates of rliable (Agarwal et al. 2021), which the tests compare with.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import Array, finite

Statistic = Callable[[Array], Array]
"""X[..., runs, tasks] -> values[...]."""


def as_runs(scores: ArrayLike, name: str = "scores") -> Array:
    """Return scores as [..., runs, tasks]."""
    array = finite(name, scores)
    return array[:, None] if array.ndim == 1 else np.atleast_2d(array)


def mean(scores_RT: ArrayLike) -> Array:
    """Return the mean over tasks of the mean over runs."""
    return np.asarray(as_runs(scores_RT).mean((-2, -1)))


def median(scores_RT: ArrayLike) -> Array:
    """Return the median over tasks of the mean over runs."""
    return np.asarray(np.median(as_runs(scores_RT).mean(-2), axis=-1))


def interquartile_mean(scores_RT: ArrayLike) -> Array:
    """Return the mean of the middle half of all runs: floor(N / 4) are dropped at each end."""
    from scipy import stats  # half a second, which not every command needs

    scores = as_runs(scores_RT)
    flat = scores.reshape(*scores.shape[:-2], -1)
    return np.asarray(stats.trim_mean(flat, 0.25, axis=-1))


def optimality_gap(scores_RT: ArrayLike, target: float = 1.0) -> Array:
    """Return how far runs stay below a target: target - mean(min(X, target)). Less is better."""
    return np.asarray(target - np.minimum(as_runs(scores_RT), target).mean((-2, -1)))
