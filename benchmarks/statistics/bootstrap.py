"""Percentile intervals from resampled runs.

Runs are drawn with replacement inside every task on its own (stratified), so an interval speaks of
other seeds on these tasks. With `tasks=True` tasks are drawn too: it then speaks of other tasks
like these. Intervals from few runs are too narrow (3 runs: 84 % instead of 95 %); every interval
carries its number of runs, and `coevo.benchmarks.interval_coverage` prints what was covered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

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
    """An estimate between its bounds."""

    low: float
    """Lower bound; NaN where it is undefined."""
    point: float
    """The estimate."""
    high: float
    """Upper bound; NaN where it is undefined."""
    runs: int
    """Number of runs, seeds or clusters behind it."""
    confidence: float = 0.95
    """Intended coverage."""

    def __str__(self) -> str:
        return f"{self.point:.3f} [{self.low:.3f}, {self.high:.3f}] (n = {self.runs})"

    def excludes(self, value: float) -> bool:
        """Tell whether a value lies outside; False where a bound is undefined.

        >>> Interval(0.1, 0.2, 0.3, 10).excludes(0.0)
        True
        """
        return value < self.low or value > self.high


@dataclass(frozen=True)
class Band:
    """A curve between its pointwise bounds."""

    low: Array
    """Lower bounds."""
    point: Array
    """The estimates."""
    high: Array
    """Upper bounds."""
    runs: int
    """Number of runs behind it."""
    confidence: float = 0.95
    """Intended coverage of each point, not of the curve as a whole."""


def run_indices(rng: Generator, shape: tuple[int, int], replicates: int) -> NDArray[np.int64]:
    """Draw for every replicate and task which runs stand in its place: [replicates, runs, tasks].

    >>> run_indices(np.random.default_rng(0), (4, 3), 2).shape
    (2, 4, 3)
    """
    return rng.integers(shape[0], size=(replicates, *shape))


def take_runs(scores_RT: Array, index_BRT: NDArray[np.int64]) -> Array:
    """Give resampled scores [replicates, runs, tasks, ...].

    >>> take_runs(np.array([[1.0], [2.0]]), np.array([[[0], [0]], [[1], [0]]]))[..., 0].tolist()
    [[1.0, 1.0], [2.0, 1.0]]
    """
    return scores_RT[index_BRT, np.arange(scores_RT.shape[1])]


def resamples(
    scores_RT: Array, rng: Generator, replicates: int, *, tasks: bool = False
) -> Iterator[Array]:
    """Yield resampled scores [some, runs, tasks, ...] until there are enough.

    The chunks make no difference to what is drawn.
    """
    shape = (scores_RT.shape[0], scores_RT.shape[1])
    per_chunk = max(1, CHUNK // scores_RT.size)
    for start in range(0, replicates, per_chunk):
        number = min(per_chunk, replicates - start)
        if not tasks:
            yield take_runs(scores_RT, run_indices(rng, shape, number))
            continue
        task_BT = rng.integers(shape[1], size=(number, shape[1]))
        yield scores_RT[run_indices(rng, shape, number), task_BT[:, None, :]]


def replicate(
    scores_RT: ArrayLike,
    statistic: Statistic,
    rng: Generator,
    replicates: int = REPLICATES,
    *,
    tasks: bool = False,
) -> Array:
    """Give the statistic of every resample: [replicates, ...].

    Args:
        scores_RT: scores [runs, tasks]; a vector is one task.
        statistic: from [b, runs, tasks] to [b, ...].
        rng: source of the indices.
        replicates: number of resamples.
        tasks: resample tasks as well.
    """
    scores = as_runs(scores_RT)
    count("replicates", replicates)
    chunks = resamples(scores, rng, replicates, tasks=tasks)
    return np.concatenate([np.asarray(statistic(chunk)) for chunk in chunks])


def percentiles(values_B: Array, confidence: float = 0.95) -> tuple[Array, Array]:
    """Give the bounds between which the middle `confidence` of replicates lies.

    >>> [round(float(b), 6) for b in percentiles(np.arange(101.0), 0.9)]
    [5.0, 95.0]
    """
    tail = (1 - share("confidence", confidence)) / 2
    low, high = np.quantile(values_B, [tail, 1 - tail], axis=0)
    return low, high


def bootstrap_interval(
    scores_RT: ArrayLike,
    statistic: Statistic,
    rng: Generator,
    replicates: int = REPLICATES,
    *,
    confidence: float = 0.95,
    tasks: bool = False,
) -> Interval:
    """Give a statistic of runs with its stratified percentile interval.

    The bounds are NaN for a single run: it says nothing about other seeds.

    >>> from coevo.benchmarks.statistics.aggregates import mean
    >>> str(bootstrap_interval([[0, 1], [1, 3]], mean, np.random.default_rng(0), 2000))
    '1.250 [0.500, 2.000] (n = 2)'
    """
    scores = as_runs(scores_RT)
    if scores.ndim != 2:
        raise ConfigError(f"scores has shape {scores.shape}; expected [runs, tasks]")
    point, runs = float(statistic(scores)), len(scores)
    if runs < 2:
        return Interval(np.nan, point, np.nan, runs, confidence)
    values = replicate(scores, statistic, rng, replicates, tasks=tasks)
    low, high = percentiles(values, confidence)
    return Interval(float(low), point, float(high), runs, confidence)


def difference_interval(
    first_RT: ArrayLike,
    second_RT: ArrayLike,
    statistic: Statistic,
    rng: Generator,
    replicates: int = REPLICATES,
    *,
    confidence: float = 0.95,
) -> Interval:
    """Give statistic(first) - statistic(second) for runs paired by row, with its interval.

    Both take the same indices, so what a seed does to both cancels.

    >>> from coevo.benchmarks.statistics.aggregates import mean
    >>> str(difference_interval([[1.0], [2.0]], [[0.0], [1.0]], mean, np.random.default_rng(0)))
    '1.000 [1.000, 1.000] (n = 2)'
    """
    first, second = as_runs(first_RT), as_runs(second_RT)
    if first.shape != second.shape:
        raise ConfigError(f"paired scores have shapes {first.shape} and {second.shape}")
    both = np.stack([first, second], axis=-1)

    def difference(both_BRTx: Array) -> Array:
        return np.asarray(statistic(both_BRTx[..., 0]) - statistic(both_BRTx[..., 1]))

    point, runs = float(difference(both)), len(first)
    if runs < 2:
        return Interval(np.nan, point, np.nan, runs, confidence)
    values = replicate(both, difference, rng, replicates)
    low, high = percentiles(values, confidence)
    return Interval(float(low), point, float(high), runs, confidence)
