"""Probability of improvement: how often a run of one algorithm beats a run of another.

P(X > Y) = mean over tasks of [#(x > y) + #(x = y) / 2] / (runs of X * runs of Y); it is the
Mann-Whitney statistic per task (Agarwal et al. 2021). It says how often, not by how much.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.aggregates import as_runs
from coevo.benchmarks.statistics.arrays import Array
from coevo.benchmarks.statistics.bootstrap import REPLICATES, Interval, bounds
from coevo.envs.core.errors import ConfigError


def improvement_interval(
    first_RT: ArrayLike,
    second_QT: ArrayLike,
    rng: Generator,
    replicates: int = REPLICATES,
) -> Interval:
    """Return the probability of improvement with a stratified percentile interval.

    The two may have different numbers of runs, which are drawn independently; ties count half. The
    bounds are NaN where either has a single run.
    """
    columns = _columns(first_RT, second_QT)
    rows, others = columns[0].shape[-1], columns[-1].shape[-1]
    low, high = bounds(columns, _improvement, rng, replicates, rows * others)
    point = float(_improvement(columns))
    return Interval(float(low), point, float(high), min(rows, others))


def _columns(first_RT: ArrayLike, second_QT: ArrayLike) -> list[Array]:
    """Return the runs of the first on every task, then those of the second."""
    first, second = as_runs(first_RT, "first"), as_runs(second_QT, "second")
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1]:
        raise ConfigError(f"{first.shape} and {second.shape} are not runs of the same tasks")
    return [*first.T, *second.T]


def _improvement(columns: Sequence[Array]) -> Array:
    tasks = len(columns) // 2
    pairs = zip(columns[:tasks], columns[tasks:], strict=True)
    ahead = [np.sign(x[..., :, None] - y[..., None, :]).mean((-2, -1)) for x, y in pairs]
    return np.asarray((np.mean(ahead, axis=0) + 1) / 2)
