"""Online ratings with their uncertainty for games of any number of players.

Weng and Lin (2011), Plackett-Luce model, as in OpenSkill, which the tests compare with; single
players instead of teams. Agents are listed by `ordinal`, what they are worth with confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.benchmarks.statistics.errors import z_value
from coevo.envs.core.errors import ConfigError

MU, SIGMA = 25.0, 25.0 / 3
BETA = 25.0 / 6
"""Spread of one performance around the skill."""
TAU = 25.0 / 300
"""Uncertainty that time adds before every game: without it an old rating could not move."""
KAPPA = 1e-4
"""Least factor on a variance after a game."""


class Rating(NamedTuple):
    """What is believed about an agent's skill: normal with this mean and deviation."""

    mu: float = MU
    sigma: float = SIGMA
    games: int = 0
    """Games behind it."""

    @property
    def ordinal(self) -> float:
        """Skill that is reached almost surely: mu - 3 sigma."""
        return self.mu - 3 * self.sigma

    def interval(self, confidence: float = 0.95) -> Interval:
        """Give the skill with the interval of the belief, as narrow as the model is true."""
        width = z_value(confidence) * self.sigma
        return Interval(self.mu - width, self.mu, self.mu + width, self.games, confidence)


def rate(
    ratings: Sequence[Rating],
    ranks: Sequence[float],
    *,
    beta: float = BETA,
    tau: float = TAU,
    kappa: float = KAPPA,
) -> list[Rating]:
    """Give the ratings after a game, lower rank being better and equal ranks a draw.

    With c^2 = sum_i (s_i^2 + beta^2), s_i^2 = sigma_i^2 + tau^2, and for every place q held by
    A_q players the probability p_iq = e^(mu_i / c) / sum_(rank_j >= rank_q) e^(mu_j / c):
    omega_i = sum_(rank_q <= rank_i) ([i = q] - p_iq) / A_q, delta_i = sum p_iq (1 - p_iq) / A_q,
    mu_i += s_i^2 / c * omega_i, sigma_i^2 = s_i^2 max(1 - s_i^2 / c^2 * s_i / c * delta_i, kappa).
    A draw brings the ratings of those who drew closer together.

    >>> winner, loser = rate([Rating(), Rating()], [1, 2])
    >>> round(winner.mu, 6), round(loser.mu, 6), round(winner.sigma, 6)
    (27.635389, 22.364611, 8.065901)
    """
    if len(ratings) != len(ranks) or len(ratings) < 2:
        raise ConfigError(
            f"{len(ratings)} ratings and {len(ranks)} ranks; a game needs two of each"
        )
    variance = [r.sigma**2 + tau**2 for r in ratings]
    c = math.sqrt(sum(variance) + len(ratings) * beta**2)
    best = max(r.mu for r in ratings)
    strength = [math.exp((r.mu - best) / c) for r in ratings]
    rated = []
    for i, (rating, s2) in enumerate(zip(ratings, variance, strict=True)):
        omega, delta = _step(i, strength, ranks)
        mu = rating.mu + s2 / c * omega
        shrink = max(1 - s2 / c**2 * (math.sqrt(s2) / c) * delta, kappa)
        rated.append(Rating(mu, math.sqrt(s2 * shrink), rating.games + 1))
    return rated


def _step(i: int, strength: Sequence[float], ranks: Sequence[float]) -> tuple[float, float]:
    omega = delta = 0.0
    for q, rank in enumerate(ranks):
        if rank > ranks[i]:
            continue
        p = strength[i] / sum(s for s, r in zip(strength, ranks, strict=True) if r >= rank)
        tied = sum(r == rank for r in ranks)
        omega += ((q == i) - p) / tied
        delta += p * (1 - p) / tied
    return omega, delta
