"""Is each checkpoint better than the ones before it?

Self-play can win against its last self for ever and go in circles. So a series is scored against
all its ancestors, and on fixed cells (game, opponent, seat) in percentiles instead of a mean, after
XLand (Open-Ended Learning Team 2021): better only if ahead at every percentile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import Array, finite, square
from coevo.benchmarks.statistics.nash_averaging import nash_average_tasks
from coevo.envs.core.errors import ConfigError

PERCENTILES = (10, 20, 50, 80)


class Ancestry(NamedTuple):
    """Points of each generation against earlier ones; the first has none, hence NaN."""

    previous: Array
    mean: Array
    worst: Array
    """Against the earlier one that is hardest for it."""
    lost_to: Array
    """Number of earlier ones that it scores under 1/2 against: above 0 it has forgotten."""

    @property
    def score(self) -> float:
        """Generation-over-generation score: mean points against the one before."""
        return float(np.nanmean(self.previous))


def ancestry(win_rate_GG: ArrayLike) -> Ancestry:
    """Return how checkpoints, oldest first, do against the earlier ones of a cross-play matrix.

    >>> wins = [[0.5, 0.3, 0.6], [0.7, 0.5, 0.2], [0.4, 0.8, 0.5]]
    >>> result = ancestry(wins)
    >>> result.previous.tolist(), result.worst.tolist(), result.lost_to.tolist()
    ([nan, 0.7, 0.8], [nan, 0.7, 0.4], [nan, 0.0, 1.0])
    >>> result.score
    0.75
    """
    rates = square("win rates", win_rate_GG)
    if rates.ndim != 2 or len(rates) < 2:
        raise ConfigError("a series needs the win rates of two generations or more")
    earlier = [rates[g, :g] for g in range(1, len(rates))]
    rows = [(e[-1], e.mean(), e.min(), (e < 0.5).sum()) for e in earlier]
    return Ancestry(*np.array([(np.nan,) * 4, *rows]).T)


class Generations(NamedTuple):
    """A series of checkpoints on fixed cells."""

    percentiles: Array
    """Percentiles over cells of the normalised score [generations, percentiles]."""
    participation: Array
    """Share of cells with any reward [generations]."""
    dominates: tuple[bool, ...]
    """Whether a generation is nowhere behind the one before and somewhere ahead, over all
    percentiles and participation."""


def generation_table(
    scores_GC: ArrayLike, reference_C: ArrayLike, percentiles: Sequence[float] = PERCENTILES
) -> Generations:
    """Return the comparison of generations without a common scale of reward.

    A score of 0 is no reward; the reference is what counts as 1 on each cell: the oracle, or
    `nash_reference`.
    """
    scores = finite("scores", scores_GC, ndim=2)
    reference = finite("reference", reference_C, ndim=1)
    if scores.shape[1] != len(reference) or (reference <= 0).any() or (scores < 0).any():
        raise ConfigError(
            "every cell needs scores of at least 0 and a reference above 0; shift or normalise "
            f"first (scores {scores.shape}, from {scores.min()}; reference from {reference.min()})"
        )
    levels = np.percentile(scores / reference, list(percentiles), axis=1).T
    participation = (scores > 0).mean(1)
    seen = np.column_stack([levels, participation])
    change = np.diff(seen, axis=0)
    ahead = (change >= 0).all(1) & (change > 0).any(1)
    return Generations(levels, participation, (False, *map(bool, np.atleast_1d(ahead))))


def nash_reference(scores_GC: ArrayLike) -> Array:
    """Return the score on each cell of the population's equilibrium mixture against the cells."""
    scores = finite("scores", scores_GC, ndim=2)
    return nash_average_tasks(scores) @ scores
