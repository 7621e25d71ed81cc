"""Performance profiles: the share of runs above every threshold, instead of one number.

After rliable (Agarwal et al. 2021; Dolan and Moré 2002). A curve that lies above another
everywhere is better in every quantile; curves that cross say that the ranking is a matter of taste.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.aggregates import as_runs
from coevo.benchmarks.statistics.arrays import Array, finite
from coevo.benchmarks.statistics.bootstrap import (
    CURVE_REPLICATES,
    Band,
    percentiles,
    replicate,
)


def run_profile(scores_RT: ArrayLike, thresholds_K: ArrayLike) -> Array:
    """Give the share of runs whose score is strictly above each threshold: [..., K].

    >>> run_profile([[0, 1], [1, 3]], [0, 0.5, 1]).tolist()
    [0.75, 0.75, 0.25]
    """
    return _above(as_runs(scores_RT), finite("thresholds", thresholds_K, ndim=1))


def task_profile(scores_RT: ArrayLike, thresholds_K: ArrayLike) -> Array:
    """Give the share of tasks whose mean score is strictly above each threshold: [..., K].

    >>> task_profile([[0, 1], [1, 3]], [0.5, 1]).tolist()
    [0.5, 0.5]
    """
    means = as_runs(scores_RT).mean(-2, keepdims=True)
    return _above(means, finite("thresholds", thresholds_K, ndim=1))


def _above(scores_RT: Array, thresholds_K: Array) -> Array:
    """Rank the thresholds among the sorted scores: memory grows with scores + K, not with both."""
    flat = np.sort(scores_RT.reshape(*scores_RT.shape[:-2], -1), axis=-1)
    rows = flat.reshape(-1, flat.shape[-1])
    below = [np.searchsorted(row, thresholds_K, side="right") for row in rows]
    return 1 - np.reshape(below, (*flat.shape[:-1], -1)) / flat.shape[-1]


def profile_band(
    scores_RT: ArrayLike,
    thresholds_K: ArrayLike,
    rng: Generator,
    replicates: int = CURVE_REPLICATES,
    *,
    average_runs: bool = False,
    confidence: float = 0.95,
) -> Band:
    """Give a profile with pointwise percentile bounds from the stratified bootstrap.

    Args:
        scores_RT: scores [runs, tasks].
        thresholds_K: where to look.
        rng: source of the resamples.
        replicates: number of resamples.
        average_runs: the profile of task means instead of runs.
        confidence: intended coverage of each point.

    >>> band = profile_band([[0.0], [1.0]], [0.5], np.random.default_rng(0))
    >>> band.low.tolist(), band.point.tolist(), band.high.tolist()
    ([0.0], [0.5], [1.0])
    """
    scores = as_runs(scores_RT)
    profile = task_profile if average_runs else run_profile
    point = profile(scores, thresholds_K)
    if len(scores) < 2:
        undefined = np.full_like(point, np.nan)
        return Band(undefined, point, undefined, len(scores), confidence)
    values = replicate(scores, lambda x: profile(x, thresholds_K), rng, replicates)
    low, high = percentiles(values, confidence)
    return Band(low, point, high, len(scores), confidence)
