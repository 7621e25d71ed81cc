"""Probability of improvement: how often a run of one algorithm beats a run of another.

P(X > Y) = mean over tasks of [#(x > y) + #(x = y) / 2] / (runs of X * runs of Y); it is the
Mann-Whitney statistic per task (Agarwal et al. 2021). It says how often, not by how much.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.aggregates import as_runs
from coevo.benchmarks.statistics.arrays import Array, count
from coevo.benchmarks.statistics.bootstrap import REPLICATES, Interval, percentiles
from coevo.envs.core.errors import ConfigError


def improvement_by_task(first_RT: ArrayLike, second_QT: ArrayLike) -> Array:
    """Give the probability that a run of the first beats one of the second, for every task.

    The two may have different numbers of runs; ties count half.

    >>> improvement_by_task([[1, 0], [2, 0]], [[1, 0]]).tolist()
    [0.75, 0.5]
    """
    return np.asarray(_outcomes(first_RT, second_QT).mean((0, 1)))


def probability_of_improvement(first_RT: ArrayLike, second_QT: ArrayLike) -> float:
    """Give the mean over tasks of `improvement_by_task`.

    >>> probability_of_improvement([1, 2], [0, 1])
    0.875
    """
    return float(improvement_by_task(first_RT, second_QT).mean())


def improvement_interval(
    first_RT: ArrayLike,
    second_QT: ArrayLike,
    rng: Generator,
    replicates: int = REPLICATES,
    *,
    confidence: float = 0.95,
) -> Interval:
    """Give the probability of improvement with a stratified percentile interval.

    Runs of the two algorithms are drawn independently. Instead of indices, the number of times
    that each run is drawn is sampled (the same distribution), which turns a replicate into
    c_x' W c_y / (n_x n_y) with W the outcomes. The bounds are NaN where either has a single run.

    >>> str(improvement_interval([3, 4, 5], [0, 1, 2], np.random.default_rng(0)))
    '1.000 [1.000, 1.000] (n = 3)'
    """
    outcomes_RQT = _outcomes(first_RT, second_QT)
    count("replicates", replicates)
    rows, columns, tasks = outcomes_RQT.shape
    point, runs = float(outcomes_RQT.mean((0, 1)).mean()), min(rows, columns)
    if runs < 2:
        return Interval(np.nan, point, np.nan, runs, confidence)
    values = np.zeros(replicates)
    for task in range(tasks):
        first_BR = rng.multinomial(rows, np.full(rows, 1 / rows), size=replicates)
        second_BQ = rng.multinomial(columns, np.full(columns, 1 / columns), size=replicates)
        won = ((first_BR @ outcomes_RQT[..., task]) * second_BQ).sum(-1)
        values += won / (rows * columns * tasks)
    low, high = percentiles(values, confidence)
    return Interval(float(low), point, float(high), runs, confidence)


def _outcomes(first_RT: ArrayLike, second_QT: ArrayLike) -> Array:
    """1 where the first wins, 1/2 where they tie: [runs of first, runs of second, tasks]."""
    first, second = as_runs(first_RT, "first"), as_runs(second_QT, "second")
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1]:
        raise ConfigError(f"{first.shape} and {second.shape} are not runs of the same tasks")
    ahead = first[:, None] - second[None]
    return np.asarray((np.sign(ahead) + 1) / 2)
