"""Scores of every agent against every other, in both seat orders.

Games of one task between the same two agents are resampled together: their results share the luck.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coevo.benchmarks.statistics.arrays import Array, count
from coevo.benchmarks.statistics.bootstrap import Interval, percentiles
from coevo.envs.core.errors import ConfigError, unknown

REPLICATES = 1_000


class Game(NamedTuple):
    """One finished game between two agents, or of an agent with itself."""

    first: str
    second: str
    points: float
    """What the first seat got: 1 won, 1/2 drawn, 0 lost; the second got the rest."""
    task: int = 0
    """Equal for games from one initial state."""
    payoffs: tuple[float, float] | None = None
    """Returns of the first and the second seat; the points if left out."""


@dataclass(frozen=True)
class Tally:
    """Sums over games by (first seat, second seat): [..., K, K], leading axes are replicates."""

    games: Array
    points: Array
    first_payoff: Array
    second_payoff: Array

    @property
    def seat_points(self) -> Array:
        """Mean points of the row in the first seat against the column; NaN where never played."""
        return _ratio(self.points, self.games)

    @property
    def win_rate(self) -> Array:
        """Mean points of the row against the column with both seat orders weighing the same.

        rate[i, j] + rate[j, i] = 1. NaN where a seat order is missing.
        """
        seats = self.seat_points
        rate = (seats + 1 - np.swapaxes(seats, -1, -2)) / 2
        return np.where(np.eye(rate.shape[-1], dtype=bool), 0.5, rate)

    @property
    def wins(self) -> Array:
        """Points of the row against the column summed over both seats; 0 on the diagonal."""
        lost = np.swapaxes(self.games - self.points, -1, -2)
        return (self.points + lost) * (1 - np.eye(self.points.shape[-1]))

    @property
    def payoff(self) -> Array:
        """Mean return of the row against the column, seats weighing the same: a symmetric game."""
        first, second = self.role_payoffs
        return (first + np.swapaxes(second, -1, -2)) / 2

    @property
    def role_payoffs(self) -> tuple[Array, Array]:
        """Mean returns of first and second seat: the tables of a game with two roles."""
        return _ratio(self.first_payoff, self.games), _ratio(self.second_payoff, self.games)


@dataclass(frozen=True)
class CrossPlay:
    """The games of a tournament."""

    agents: tuple[str, ...]
    """Row and column order of every matrix."""
    games: tuple[Game, ...]
    _strata: dict[tuple[int, int, int], Array] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(set(self.agents)) != len(self.agents):
            raise ConfigError(f"agents must have different names; got {', '.join(self.agents)}")
        place = {name: i for i, name in enumerate(self.agents)}
        object.__setattr__(self, "_strata", _strata(self.games, place))

    def tally(self) -> Tally:
        return self._summed({key: sums.sum(0)[None] for key, sums in self._strata.items()}, 1)[0]

    def resampled(self, rng: Generator, replicates: int = REPLICATES) -> Tally:
        """Return tasks resampled with replacement within every pair: [replicates, K, K].

        Deals played in both seat orders are drawn apart from those played in one, so that no
        replicate loses a seat order.
        """
        count("replicates", replicates)
        drawn = {}
        for key, sums in self._strata.items():
            even = np.full(len(sums), 1 / len(sums))
            drawn[key] = rng.multinomial(len(sums), even, size=replicates) @ sums
        return self._summed(drawn, replicates)[1]

    def interval(
        self,
        statistic: Callable[[Tally], Array],
        rng: Generator,
        replicates: int = REPLICATES,
    ) -> list[Interval]:
        """Return one number per agent with percentile bounds from resampled tasks.

        The statistic maps a tally [..., K, K] to [..., K].
        """
        point = statistic(self.tally())
        low, high = percentiles(statistic(self.resampled(rng, replicates)))
        played = self.games_of_each()
        return [
            Interval(float(low[i]), float(point[i]), float(high[i]), played[i])
            for i in range(len(self.agents))
        ]

    def games_of_each(self) -> list[int]:
        return [sum(name in (g.first, g.second) for g in self.games) for name in self.agents]

    def _summed(
        self, sums: dict[tuple[int, int, int], Array], replicates: int
    ) -> tuple[Tally, Tally]:
        """Return the eight sums of every pair in place, without and with the replicates' axis."""
        size = len(self.agents)
        table = np.zeros((4, replicates, size, size))
        for (low, high, _), sum_B8 in sums.items():
            table[:, :, low, high] += sum_B8[:, :4].T
            table[:, :, high, low] += sum_B8[:, 4:].T
        return Tally(*table[:, 0]), Tally(*table)


def _strata(games: Iterable[Game], place: dict[str, int]) -> dict[tuple[int, int, int], Array]:
    """Return games summed by task: (lower agent, higher agent, seat orders seen) -> [tasks, 8].

    Four sums (games, points, both returns) for the games in which the lower agent has the first
    seat, then four for the others.
    """
    tasks: dict[tuple[int, int, int], Array] = defaultdict(lambda: np.zeros(8))
    for game in games:
        first, second = (_place(name, place) for name in (game.first, game.second))
        if not 0 <= game.points <= 1:
            raise ConfigError(f"points={game.points} of a game must lie between 0 and 1")
        payoffs = game.payoffs or (game.points, 1 - game.points)
        if not np.isfinite(payoffs).all():
            raise ConfigError(f"payoffs {payoffs} of {game.first} and {game.second} are not finite")
        key = (min(first, second), max(first, second), game.task)
        at = 0 if first <= second else 4
        tasks[key][at : at + 4] += (1, game.points, *payoffs)
    strata: dict[tuple[int, int, int], list[Array]] = defaultdict(list)
    for (low, high, _), sums in tasks.items():
        strata[low, high, int(sums[0] > 0) + 2 * int(sums[4] > 0)].append(sums)
    return {key: np.array(rows) for key, rows in strata.items()}


def _place(name: str, place: dict[str, int]) -> int:
    if name not in place:
        raise unknown("agent", name, place)
    return place[name]


def _ratio(total: Array, number: Array) -> Array:
    return np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0)
