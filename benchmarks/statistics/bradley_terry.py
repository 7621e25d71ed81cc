"""Ratings from all games at once: Bradley-Terry by maximum likelihood, on the scale of Elo.

P(i beats j) = g_i / (g_i + g_j), draws count half to each side, rating = 400 log10 g. The order of
the games does not matter. One number per agent cannot express a cycle: print `residual` beside it.
choix finds the maximum. (OpenSpiel's Elo takes whole numbers of wins only, and stops tens of points
short where agents are unbeaten in a row.)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from coevo.benchmarks.statistics.arrays import Array, square
from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.benchmarks.statistics.cross_play import CrossPlay
from coevo.envs.core.errors import ConfigError

SCALE = 400 / math.log(10)
"""Elo points per unit of log-odds."""
SMOOTHING = 0.01
"""Wins added to every ordered pair, so that an unbeaten agent has a finite rating."""
REPLICATES = 200
MOST_STEPS = 10_000
"""Iterations of choix, after which it raises an error."""


def bradley_terry(wins: ArrayLike, smoothing: float = SMOOTHING) -> Array:
    """Return the rating of every agent, the lowest at 0: [..., K, K] -> [..., K].

    Without smoothing, an unbeaten agent has no finite rating, and that is an error.

    >>> bradley_terry([[0, 2], [1, 0]], smoothing=0).round(6).tolist()
    [120.411998, 0.0]
    """
    ratings = centred_ratings(wins, smoothing)
    return ratings - ratings.min(-1, keepdims=True)


def centred_ratings(wins: ArrayLike, smoothing: float = SMOOTHING) -> Array:
    """Return the rating of every agent relative to the mean of all: [..., K, K] -> [..., K]."""
    return SCALE * _most_likely(_smoothed(wins, smoothing))


def _most_likely(wins: Array) -> Array:
    """Return log-odds of mean 0 that make the wins most likely."""
    import choix  # takes seconds, with scipy.stats

    tables = wins.reshape(-1, *wins.shape[-2:])
    found = [choix.ilsr_pairwise_dense(table, max_iter=MOST_STEPS) for table in tables]
    return np.reshape(found, wins.shape[:-1])


def _smoothed(wins: ArrayLike, smoothing: float) -> Array:
    won = square("wins", wins)
    if (won < 0).any() or smoothing < 0:
        raise ConfigError("wins and smoothing must not be negative")
    smoothed = (won + smoothing) * (1 - np.eye(won.shape[-1]))
    # Ford's condition: a chain of wins leads from every agent to every other
    if smoothing == 0 and connected_components(smoothed, connection="strong")[0] > 1:
        raise ConfigError(
            "some agents never lost to the others, so that their ratings are infinite: "
            "smoothing must be above 0"
        )
    return smoothed


def predicted(ratings: ArrayLike) -> Array:
    """Return the points of row against column that ratings predict: [..., K] -> [..., K, K]."""
    strength = np.asarray(ratings, dtype=float) / SCALE
    return np.asarray(expit(strength[..., :, None] - strength[..., None, :]))


def residual(wins: ArrayLike, ratings: ArrayLike) -> float:
    """Return the mean over pairs that met of |observed - predicted| share of points.

    0 where one number per agent tells it all; large where agents beat each other in a circle.
    """
    won = square("wins", wins)
    games = won + won.T
    i, j = np.nonzero(np.triu(games, 1))
    if not len(i):
        raise ConfigError("no two agents have met: there is nothing to predict")
    return float(np.abs(won[i, j] / games[i, j] - predicted(ratings)[i, j]).mean())


def rating_intervals(
    games: CrossPlay, rng: Generator, replicates: int = REPLICATES
) -> list[Interval]:
    """Return every agent's rating with bounds from resampled tasks, in the order of the agents.

    The lowest agent is put at 0, and every replicate is centred on the mean of all agents before
    it is moved by that same constant: anchoring each replicate anew would give the lowest agent an
    interval of no width and its uncertainty to all others.
    """
    anchor = float(centred_ratings(games.tally().wins).min())
    return games.interval(lambda tally: centred_ratings(tally.wins) - anchor, rng, replicates)
