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
from coevo.benchmarks.statistics.bootstrap import CURVE_REPLICATES, Band, stratified


def run_profile(scores_RT: ArrayLike, thresholds_K: ArrayLike) -> Array:
    """Return the share of runs whose score is strictly above each threshold: [K, ...]."""
    scores = as_runs(scores_RT)
    return np.stack([(scores > t).mean((-2, -1)) for t in finite("thresholds", thresholds_K, 1)])


def profile_band(
    scores_RT: ArrayLike,
    thresholds_K: ArrayLike,
    rng: Generator,
    replicates: int = CURVE_REPLICATES,
) -> Band:
    """Return a profile with pointwise percentile bounds from the stratified bootstrap."""
    scores = as_runs(scores_RT)

    def profile(x: Array) -> Array:
        return run_profile(x, thresholds_K)

    low, high = stratified(scores, profile, rng, replicates)
    return Band(low, profile(scores), high, len(scores))
