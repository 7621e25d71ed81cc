"""Sample-efficiency curves: scores over a budget (steps, tokens or seconds), and their area.

X[runs, tasks, points] on one grid of budgets. Runs that were evaluated at slightly different
budgets are first put on a common grid.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.aggregates import interquartile_mean
from coevo.benchmarks.statistics.arrays import Array, finite
from coevo.benchmarks.statistics.bootstrap import CURVE_REPLICATES, Band, stratified
from coevo.envs.core.errors import ConfigError


def area_under_curve(budgets_P: ArrayLike, scores_P: ArrayLike) -> Array:
    """Return the mean height of curves [..., P]: trapezoid(scores, budgets) / (last - first)."""
    budgets, scores = _grid(budgets_P), finite("scores", scores_P)
    if scores.shape[-1] != len(budgets) or len(budgets) < 2:
        raise ConfigError(
            f"a curve needs two points and one score each; got {len(budgets)} budgets "
            f"and scores of shape {scores.shape}"
        )
    return np.asarray(np.trapezoid(scores, budgets) / (budgets[-1] - budgets[0]))


def on_grid(budgets_E: ArrayLike, scores_E: ArrayLike, grid_P: ArrayLike) -> Array:
    """Return one run's scores at common budgets, by straight lines between its evaluations.

    NaN before the first evaluation and after the last: a run that stopped early has no score
    there, and holding its last one would be a guess.

    >>> on_grid([0, 10, 30], [0.0, 1.0, 0.0], [5, 20, 40]).tolist()
    [0.5, 0.5, nan]
    """
    budgets, scores = _grid(budgets_E), finite("scores", scores_E, ndim=1)
    if budgets.shape != scores.shape:
        raise ConfigError(f"{len(budgets)} budgets for {len(scores)} scores")
    return np.interp(_grid(grid_P), budgets, scores, left=np.nan, right=np.nan)


def curve_band(
    scores_RTP: ArrayLike,
    rng: Generator,
    replicates: int = CURVE_REPLICATES,
) -> Band:
    """Return the interquartile mean at every point of the curves, with pointwise bounds.

    A resampled run brings its whole curve.
    """
    scores_PRT = np.moveaxis(finite("scores", scores_RTP, ndim=3), -1, 0)
    low, high = stratified(scores_PRT, interquartile_mean, rng, replicates)
    return Band(low, interquartile_mean(scores_PRT), high, scores_PRT.shape[1])


def _grid(budgets: ArrayLike) -> Array:
    grid = finite("budgets", budgets, ndim=1)
    if (np.diff(grid) <= 0).any():
        raise ConfigError(f"budgets must increase; got {grid.tolist()[:8]}")
    return grid
