"""Percentile intervals from resampled runs.

Runs are drawn with replacement inside every task on its own (stratified), so an interval speaks of
other seeds on these tasks. Intervals from few runs are too narrow (3 runs: 84 % instead of 95 %);
every interval carries its number of runs. benchmarks/results/2026-11-21-interval-coverage.md has
the measured coverage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.aggregates import Statistic, as_runs
from coevo.benchmarks.statistics.arrays import Array, count, share
from coevo.envs.core.errors import ConfigError

REPLICATES = 50_000
"""Resamples behind an interval of one number."""
CURVE_REPLICATES = 2_000
"""Resamples behind a band of many numbers."""
CHUNK = 2_000_000
"""Numbers held at once while resampling."""


@dataclass(frozen=True)
class Interval:
    """An estimate between the bounds of its 95 % interval, which are NaN where undefined."""

    low: float
    point: float
    high: float
    runs: int
    """Number of runs, seeds or clusters behind it."""

    def __str__(self) -> str:
        return f"{self.point:.3f} [{self.low:.3f}, {self.high:.3f}] (n = {self.runs})"


@dataclass(frozen=True)
class Band:
    """A curve between bounds that hold at each point, not for the curve as a whole."""

    low: Array
    point: Array
    high: Array
    runs: int


def percentiles(values_B: Array, confidence: float = 0.95) -> tuple[Array, Array]:
    """Return the bounds between which the middle `confidence` of replicates lies."""
    tail = (1 - share("confidence", confidence)) / 2
    low, high = np.quantile(values_B, [tail, 1 - tail], axis=0)
    return low, high


def bounds(
    samples: Sequence[Array],
    statistic: Callable[[Sequence[Array]], Array],
    rng: Generator,
    replicates: int,
    held: int,
) -> tuple[Array, Array]:
    """Return percentile bounds of a statistic of samples that are each resampled on their own.

    Undefined where a sample has a single run: it says nothing about other seeds. Samples are [...,
    runs]; a run that is drawn brings its leading axes along. The statistic maps resamples [...,
    replicates, runs] to [..., replicates] and holds `held` numbers for each.
    """
    from scipy import stats  # half a second, which not every command needs

    count("replicates", replicates)
    if min(sample.shape[-1] for sample in samples) < 2:
        undefined = np.full_like(statistic(samples), np.nan)
        return undefined, undefined
    found = stats.bootstrap(
        samples,
        lambda *drawn, axis: statistic(drawn),
        n_resamples=replicates,
        axis=-1,
        batch=max(1, CHUNK // held),
        vectorized=True,
        confidence_level=0.95,
        method="percentile",
        rng=rng,
    )
    return found.confidence_interval.low, found.confidence_interval.high


def stratified(
    scores_RT: Array, statistic: Statistic, rng: Generator, replicates: int
) -> tuple[Array, Array]:
    """Return the bounds of a statistic of [..., runs, tasks], runs resampled within tasks."""
    columns = [scores_RT[..., task] for task in range(scores_RT.shape[-1])]

    def of_columns(drawn: Sequence[Array]) -> Array:
        return statistic(np.stack(drawn, axis=-1))

    return bounds(columns, of_columns, rng, replicates, scores_RT.size)


def bootstrap_interval(
    scores_RT: ArrayLike,
    statistic: Statistic,
    rng: Generator,
    replicates: int = REPLICATES,
) -> Interval:
    """Return a statistic of runs with its stratified percentile interval."""
    scores = as_runs(scores_RT)
    if scores.ndim != 2:
        raise ConfigError(f"scores has shape {scores.shape}; expected [runs, tasks]")
    low, high = stratified(scores, statistic, rng, replicates)
    return Interval(float(low), float(statistic(scores)), float(high), len(scores))
