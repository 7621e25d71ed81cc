"""Ratings from all games at once: Bradley-Terry by maximum likelihood, on the scale of Elo.

P(i beats j) = g_i / (g_i + g_j), draws count half to each side, rating = 400 log10 g. The order of
the games does not matter. One number per agent cannot express a cycle: print `residual` beside it.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import Array, square
from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.benchmarks.statistics.cross_play import REPLICATES, CrossPlay
from coevo.benchmarks.statistics.elo import SCALE
from coevo.envs.core.errors import CoevoError, ConfigError

SMOOTHING = 0.01
"""Wins added to every ordered pair, so that an unbeaten agent has a finite rating."""
MOST_STEPS = 1_000
TOLERANCE = 1e-10
"""Largest change of a log-strength in the last step."""


def bradley_terry(wins: ArrayLike, smoothing: float = SMOOTHING) -> Array:
    """Give the rating of every agent, the lowest at 0: [..., K, K] -> [..., K].

    Newton's method on the likelihood; its maximum is the fixed point of the classical update
    g_i <- W_i / sum_j n_ij / (g_i + g_j). Without smoothing, an agent that nobody beats has no
    finite rating, and that is an error.

    Args:
        wins: points of row against column, draws counted half to each.
        smoothing: wins added to every ordered pair; say how much when it is not the default.

    >>> bradley_terry([[0, 2], [1, 0]], smoothing=0).round(6).tolist()
    [120.411998, 0.0]
    >>> bradley_terry([[0, 4, 2], [1, 0, 2], [3, 3, 0]]).round(3).tolist()
    [146.532, 0.0, 146.532]
    """
    ratings = centred_ratings(wins, smoothing)
    return ratings - ratings.min(-1, keepdims=True)


def centred_ratings(wins: ArrayLike, smoothing: float = SMOOTHING) -> Array:
    """Give the rating of every agent relative to the mean of all.

    >>> centred_ratings([[0, 1], [1, 0]]).tolist()
    [0.0, 0.0]
    """
    smoothed = _smoothed(wins, smoothing)
    games = smoothed + np.swapaxes(smoothed, -1, -2)
    size = smoothed.shape[-1]
    strength = np.zeros(smoothed.shape[:-1])
    for _ in range(MOST_STEPS):
        chance = _chance(strength)
        slope = (smoothed - games * chance).sum(-1)
        curve = games * chance * (1 - chance)
        hessian = np.eye(size) * curve.sum(-1)[..., None] - curve
        step = np.linalg.solve(hessian + 1 / size, slope[..., None])[..., 0]
        longest = np.abs(step).max(-1, keepdims=True)
        strength = strength + step / np.maximum(longest, 1.0)  # never more than a factor of e
        if longest.max() < TOLERANCE:
            return SCALE * (strength - strength.mean(-1, keepdims=True))
    raise CoevoError(f"Bradley-Terry ratings did not settle in {MOST_STEPS} steps; smooth more")


def predicted(ratings: ArrayLike) -> Array:
    """Give the points of row against column that ratings predict: [..., K] -> [..., K, K].

    >>> predicted([200, 0]).round(4).tolist()
    [[0.5, 0.7597], [0.2403, 0.5]]
    """
    return _chance(np.asarray(ratings, dtype=float) / SCALE)


def residual(wins: ArrayLike, ratings: ArrayLike) -> float:
    """Mean over pairs that met of |observed - predicted| share of points.

    0 where one number per agent tells it all; large where agents beat each other in a circle.

    >>> wins = [[0, 9, 1], [1, 0, 9], [9, 1, 0]]
    >>> round(residual(wins, bradley_terry(wins)), 6)
    0.4
    """
    won = square("wins", wins)
    games = won + won.T
    i, j = np.nonzero(np.triu(games, 1))
    if not len(i):
        raise ConfigError("no two agents have met: there is nothing to predict")
    return float(np.abs(won[i, j] / games[i, j] - predicted(ratings)[i, j]).mean())


def rating_intervals(
    games: CrossPlay,
    rng: Generator,
    replicates: int = REPLICATES,
    *,
    smoothing: float = SMOOTHING,
    confidence: float = 0.95,
) -> list[Interval]:
    """Give every agent's rating with bounds from resampled deals, in the order of the agents.

    The lowest agent is put at 0, and every replicate is centred on the mean of all agents before
    it is moved by that same constant: anchoring each replicate anew would give the lowest agent an
    interval of no width and its uncertainty to everybody else.
    """
    if smoothing <= 0:
        raise ConfigError("resampled games can leave an agent unbeaten: smoothing must be above 0")
    anchor = float(centred_ratings(games.tally().wins, smoothing).min())
    return games.interval(
        lambda tally: centred_ratings(tally.wins, smoothing) - anchor,
        rng,
        replicates,
        confidence=confidence,
    )


def _smoothed(wins: ArrayLike, smoothing: float) -> Array:
    won = square("wins", wins)
    if (won < 0).any() or smoothing < 0:
        raise ConfigError("wins and smoothing must not be negative")
    off_diagonal = 1 - np.eye(won.shape[-1])
    smoothed = (won + smoothing) * off_diagonal
    if smoothing == 0 and not _strongly_connected(smoothed):
        raise ConfigError(
            "some agents never lost to the others, so that their ratings are infinite: "
            "smoothing must be above 0"
        )
    return smoothed


def _strongly_connected(wins: Array) -> bool:
    """Tell whether a chain of wins leads from everybody to everybody (Ford's condition)."""
    reach = (wins > 0) | np.eye(wins.shape[-1], dtype=bool)
    for _ in range(wins.shape[-1].bit_length()):
        reach = reach @ reach
    return bool(reach.all())


def _chance(strength: Array) -> Array:
    lead = strength[..., :, None] - strength[..., None, :]
    return (1 + np.tanh(lead / 2)) / 2
