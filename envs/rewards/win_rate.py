"""How often an episode is preferred to the others of its task: rewards from comparisons alone."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from math import isclose
from typing import Annotated, Literal

import numpy as np

from coevo.envs.core.config import choice, config
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.rewards import RewardModule, Table


@config
class Higher:
    """Prefers the episode in which the seat earned more of a component; equal ones tie."""

    name: Literal["higher"] = "higher"
    component: str = "payoff"
    """What is compared."""

    def __call__(self, one: Episode, other: Episode, seat: str) -> float:
        """Return the probability that the first is preferred."""
        gap = one.total(seat, self.component) - other.total(seat, self.component)
        return 0.5 * (1 + (gap > 0) - (gap < 0))


@config
class Odds:
    """Prefers by a table of the seat's last moves, which may be intransitive."""

    name: Literal["odds"] = "odds"
    of: Mapping[str, Mapping[str, float]]
    """Move -> other move -> probability that the first is preferred."""

    def __post_init__(self) -> None:
        for one, row in self.of.items():
            for other, p in row.items():
                back = self.of.get(other, {}).get(one)
                if back is None or not isclose(p + back, 1.0):
                    raise ConfigError(
                        f"odds: {one} over {other} is {p} and {other} over {one} is {back}; they "
                        "must add up to 1"
                    )

    def __call__(self, one: Episode, other: Episode, seat: str) -> float:
        """Return the probability that the first is preferred; two without a move tie."""
        a, b = _last_move(one, seat), _last_move(other, seat)
        if a is None or b is None:
            return 0.5 * (1 + (b is None) - (a is None))
        return self.of[a][b]


Judge = Annotated[Higher | Odds, choice()]
"""What compares two episodes of one task."""


@config
class WinRate(RewardModule):
    """Pays every seat the share of the other episodes of its task to which its own is preferred.

    r_i = sum over j != i of P(i preferred to j) / (G - 1); the mean of a group is 1/2. With
    `itself` the episode also ties with itself: (sum + 1/2) / G, nearer to 1/2 by (G - 1) / G, the
    estimate of SPPO (arXiv 2405.00675). Episodes
    of one batch are of one task if environment, seed and task are equal. Both orders of a pair are
    one question, so that they add up to 1. A group of one is paid 1/2. Source: Swamy et al. 2024,
    arXiv 2401.04056 (SPO), algorithm 1.
    """

    name: Literal["win_rate"] = "win_rate"
    judge: Judge = Higher()
    itself: bool = False
    """Whether the episode is among those that it is compared with."""
    drawn: bool = False
    """Whether a pair is decided once, by the probability, instead of being paid the probability."""

    @property
    def range(self) -> tuple[float, float]:
        return (0.0, 1.0)

    @property
    def per_turn(self) -> bool:
        return False

    def table(self, episodes: Sequence[Episode]) -> Table:
        tables: Table = [[{} for _ in e.turns] for e in episodes]
        groups: dict[tuple[object, ...], list[int]] = {}
        for i, episode in enumerate(episodes):
            if episode.stop is not StopReason.ERROR:
                groups.setdefault((episode.env, episode.seed, episode.task), []).append(i)
        for members in groups.values():
            for seat in episodes[members[0]].agents:
                here = [i for i in members if _last(episodes[i], seat) is not None]
                for i, rate in zip(
                    here, self._rates([episodes[i] for i in here], seat), strict=True
                ):
                    tables[i][_last(episodes[i], seat) or 0][seat] = rate
        return tables

    def _rates(self, group: Sequence[Episode], seat: str) -> list[float]:
        size, wins = len(group), np.zeros(len(group))
        if size < 2:
            return [0.5] * size
        rng = np.random.default_rng(_entropy(group, seat))
        for i in range(size):
            for j in range(i + 1, size):
                p = self.judge(group[i], group[j], seat)
                p = float(rng.random() < p) if self.drawn else p
                wins[i] += p
                wins[j] += 1 - p
        own = int(self.itself)
        rates: list[float] = ((wins + 0.5 * own) / (size - 1 + own)).tolist()
        return rates


def _last(episode: Episode, seat: str) -> int | None:
    return max((k for k, t in enumerate(episode.turns) if t.agent == seat), default=None)


def _last_move(episode: Episode, seat: str) -> str | None:
    at = _last(episode, seat)
    return None if at is None else episode.turns[at].move


def _entropy(group: Sequence[Episode], seat: str) -> list[int]:
    """Return what the draws of a group come from: its task, its seat and who played when."""
    first = group[0]
    version = max((t.version for t in first.turns), default=-1)
    return [zlib.crc32(f"{first.task}/{seat}".encode()), first.seed or 0, version + 1]
