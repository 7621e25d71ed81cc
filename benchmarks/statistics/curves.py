"""Sample-efficiency curves: scores over a budget (steps, tokens or seconds), and their area.

X[runs, tasks, points] on one grid of budgets. Runs that were evaluated at slightly different
budgets are first put on a common grid.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.aggregates import Statistic, interquartile_mean
from coevo.benchmarks.statistics.arrays import Array, finite
from coevo.benchmarks.statistics.bootstrap import (
    CURVE_REPLICATES,
    Band,
    percentiles,
    resamples,
)
from coevo.envs.core.errors import ConfigError


def area_under_curve(budgets_P: ArrayLike, scores_P: ArrayLike) -> Array:
    """Give the mean height of curves [..., P]: trapezoid(scores, budgets) / (last - first).

    >>> float(area_under_curve([0, 1, 2, 4], [0, 0.5, 0.75, 1]))
    0.65625
    """
    budgets, scores = _grid(budgets_P), finite("scores", scores_P)
    if scores.shape[-1] != len(budgets) or len(budgets) < 2:
        raise ConfigError(
            f"a curve needs two points and one score each; got {len(budgets)} budgets "
            f"and scores of shape {scores.shape}"
        )
    return np.asarray(np.trapezoid(scores, budgets) / (budgets[-1] - budgets[0]))


def on_grid(budgets_E: ArrayLike, scores_E: ArrayLike, grid_P: ArrayLike) -> Array:
    """Give one run's scores at common budgets, by straight lines between its evaluations.

    NaN before the first evaluation and after the last: a run that stopped early has no score
    there, and holding its last one would be a guess.

    >>> on_grid([0, 10, 30], [0.0, 1.0, 0.0], [5, 20, 40]).tolist()
    [0.5, 0.5, nan]
    """
    budgets, scores = _grid(budgets_E), finite("scores", scores_E, ndim=1)
    if budgets.shape != scores.shape:
        raise ConfigError(f"{len(budgets)} budgets for {len(scores)} scores")
    return np.interp(_grid(grid_P), budgets, scores, left=np.nan, right=np.nan)


def budget_to_reach(budgets_P: ArrayLike, scores_P: ArrayLike, target: float) -> float:
    """Give the first budget at which a curve reaches a target; infinite if it never does.

    >>> budget_to_reach([0, 10, 20], [0.0, 0.5, 1.0], 0.75), budget_to_reach([0, 1], [0, 0], 1)
    (15.0, inf)
    """
    budgets, scores = _grid(budgets_P), finite("scores", scores_P, ndim=1)
    if budgets.shape != scores.shape:
        raise ConfigError(f"{len(budgets)} budgets for {len(scores)} scores")
    reached = np.flatnonzero(scores >= target)
    if not len(reached):
        return float("inf")
    at = int(reached[0])
    if at == 0:
        return float(budgets[0])
    way = (target - scores[at - 1]) / (scores[at] - scores[at - 1])
    return float(budgets[at - 1] + way * (budgets[at] - budgets[at - 1]))


def curve_band(
    scores_RTP: ArrayLike,
    rng: Generator,
    replicates: int = CURVE_REPLICATES,
    *,
    statistic: Statistic = interquartile_mean,
    confidence: float = 0.95,
) -> Band:
    """Give an aggregate at every point of the curves, with pointwise bounds.

    A resampled run brings its whole curve.

    >>> band = curve_band([[[0.0, 1.0]], [[0.0, 3.0]]], np.random.default_rng(0), 500)
    >>> band.low.tolist(), band.point.tolist(), band.high.tolist()
    ([0.0, 1.0], [0.0, 2.0], [0.0, 3.0])
    """
    scores = finite("scores", scores_RTP, ndim=3)

    def at_each_point(curves: Array) -> Array:
        return np.stack([statistic(curves[..., p]) for p in range(curves.shape[-1])], axis=-1)

    point = at_each_point(scores)
    if len(scores) < 2:
        undefined = np.full_like(point, np.nan)
        return Band(undefined, point, undefined, len(scores), confidence)
    values = np.concatenate([at_each_point(some) for some in resamples(scores, rng, replicates)])
    low, high = percentiles(values, confidence)
    return Band(low, point, high, len(scores), confidence)


def _grid(budgets: ArrayLike) -> Array:
    grid = finite("budgets", budgets, ndim=1)
    if (np.diff(grid) <= 0).any():
        raise ConfigError(f"budgets must increase; got {grid.tolist()[:8]}")
    return grid
