"""Elo while games are played: one update per game.

The result depends on the order of the games, so this is a live signal for training; report
`bradley_terry` instead.
"""

from __future__ import annotations

import math

from coevo.benchmarks.statistics.arrays import count
from coevo.envs.core.errors import ConfigError

START = 1500.0
"""Rating of a newcomer."""
SCALE = 400 / math.log(10)
"""Elo points per unit of log-odds."""


def expected_score(lead: float) -> float:
    """Give the expected points of an agent rated `lead` above its opponent.

    1 / (1 + 10^(-lead / 400)).

    >>> round(expected_score(200), 7)
    0.7597469
    """
    if lead >= 0:  # no overflow on either side
        return 1 / (1 + 10 ** (-lead / 400))
    return 10 ** (lead / 400) / (1 + 10 ** (lead / 400))


def elo_update(first: float, second: float, points: float, k: float = 32.0) -> tuple[float, float]:
    """Give both ratings after a game: R += k (points - expected).

    Args:
        first: rating of one agent.
        second: rating of its opponent.
        points: what the first got: 1, 1/2 or 0.
        k: most that a game can move a rating.

    >>> elo_update(1500, 1500, 1)
    (1516.0, 1484.0)
    """
    if not 0 <= points <= 1:
        raise ConfigError(f"points={points} must lie between 0 (lost) and 1 (won)")
    gain = k * (points - expected_score(first - second))
    return first + gain, second - gain


def elo_error(games: int) -> float:
    """Standard error of an Elo difference near 50 % after a number of games.

    >>> round(elo_error(100), 1), round(elo_error(400), 1)
    (34.7, 17.4)
    """
    return 2 * SCALE / math.sqrt(count("games", games))
