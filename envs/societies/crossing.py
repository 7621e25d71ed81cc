"""Crossing: travellers choose among three ways over a river, each slower the more take it.

Agents        player_0 to player_5
Observation   text or array: how long the ways take, and how many travel
Action        [bridge], [ferry] or [tunnel], all at once
Reward        minus the minutes of the own way: `base` and `slow` for each who takes it, oneself
              included
Ends          after one choice each
Options       travellers=[6] (numbers of which each episode draws one; the reset option `difficulty`
              names one; seats above it stay at home); base=[1, 2, 5]; slow=[1, 0.5, 0.25];
              known=True (whether they know how many travel)
References    random -4.222, equilibrium -4, oracle -3.625, all exact

A congestion game (Rosenthal 1973): whoever changes ways changes the `potential` by just what it
gains. Minutes grow evenly, so that what a traveller expects depends on the mean number of others on
a way alone: `equilibrium` and `exploitability` are exact for any number of travellers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import simultaneous
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies, mostly

WAYS = ("bridge", "ferry", "tunnel")
Minutes = Annotated[float, real(0, 100)]
Slowing = Annotated[float, real(0, 100, above=0)]
Odds = NDArray[np.float64]


@config
class CrossingConfig:
    travellers: Annotated[tuple[Annotated[int, whole(2, 100)], ...], Field(min_length=1)] = (6,)
    """How many travel: each episode draws one of these numbers, which grow."""
    base: tuple[Minutes, Minutes, Minutes] = (1.0, 2.0, 5.0)
    """Minutes of each way without anybody on it."""
    slow: tuple[Slowing, Slowing, Slowing] = (1.0, 0.5, 0.25)
    """Minutes that each traveller on a way adds to it."""
    known: bool = True
    """Whether travellers know how many they are."""

    def __post_init__(self) -> None:
        if list(self.travellers) != sorted(set(self.travellers)):
            raise ConfigError(f"travellers={list(self.travellers)} must grow from one to the next")


class Crossing(ProtocolTask[CrossingConfig]):
    env_id = "coevo/crossing-v0"
    config_class = CrossingConfig
    simultaneous = True
    numbers = len(WAYS)

    def __init__(self, config: CrossingConfig) -> None:
        super().__init__(config)
        most = config.travellers[-1]
        self.draws = len(config.travellers) > 1
        self.seats = tuple(f"player_{i}" for i in range(most))
        self.payoff_range = (-float(minutes(config, [most] * len(WAYS)).max()), 0.0)

    @property
    def difficulties(self) -> Sequence[float]:
        """How many travel, where that differs from episode to episode."""
        return self.config.travellers if self.draws else ()

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        sizes = self.config.travellers
        self.count = sizes[int(rng.integers(len(sizes)))] if self.draws else sizes[0]
        if "difficulty" in options:
            if options["difficulty"] not in sizes:
                raise ConfigError(
                    f"difficulty={options['difficulty']!r} of a reset must be how many travel, one "
                    f"of {', '.join(map(str, sizes))}"
                )
            self.count = int(options["difficulty"])
        self.taken: list[int] = []
        moves = yield All(self.seats[: self.count], moves=WAYS)
        self.taken = [WAYS.index(moves[seat]) for seat in self.seats[: self.count]]
        spent_R = minutes(self.config, self._counts())
        spent = (float(spent_R[way]) for way in self.taken)
        yield Pay({seat: -x for seat, x in zip(self.seats, spent, strict=False)})

    def _counts(self) -> NDArray[np.int64]:
        return np.bincount(self.taken, minlength=len(WAYS))

    @property
    def array_space(self) -> spaces.Box:
        return spaces.Box(0.0, 1.0, (2,), np.float32)

    def array(self, seat: str) -> np.ndarray:
        """Return 1, and how many travel over the most, 0 where that is not known."""
        if seat not in self.to_move():
            return self.no_array()
        share = self.count / self.config.travellers[-1]
        return np.array([1.0, share if self.config.known else 0.0], dtype=np.float32)

    def expert(self, seat: str, skill: float) -> Replies:
        """Draw a way as in equilibrium."""
        odds = equilibrium(self.config, self.count).tolist()
        return mostly(WAYS, dict(zip(WAYS, odds, strict=True)), skill)

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        ways = "; ".join(
            f"the {way} {base:g}, and {slow:g} more for each who takes it"
            for way, base, slow in zip(WAYS, self.config.base, self.config.slow, strict=True)
        )
        return (
            "Travellers cross a river, all at once and each by a way of its own choice. Minutes "
            f"that a way takes: {ways}. You count as well. You lose a point for each minute that "
            f"your way takes.\nYou are {seat}."
        )

    def situation(self, seat: str) -> str:
        moves = ", ".join(map(answer, WAYS))
        return f"{self._number()}\nWhich way do you take? Legal moves: {moves}"

    def terse(self, seat: str) -> str:
        ways = ", ".join(
            f"{answer(way)} {base:g} + {slow:g} each"
            for way, base, slow in zip(WAYS, self.config.base, self.config.slow, strict=True)
        )
        return f"Crossing. {self._number()} Minutes: {ways}. Answer with your way."

    def _number(self) -> str:
        if self.config.known:
            return f"{self.count} travel."
        return "You do not know how many travel."

    def draw(self) -> str:
        if not self.taken:
            return f"{self.count} travel"
        return ", ".join(f"{way}: {n}" for way, n in zip(WAYS, self._counts(), strict=True))

    def outcome(self) -> dict[str, float]:
        """Return mean minutes, the potential, and the most that one could have saved (`regret`)."""
        if not self.taken:
            return {}
        chosen = np.eye(len(WAYS))[self.taken]
        return {
            "minutes": float(np.mean(minutes(self.config, self._counts())[self.taken])),
            "potential": potential(self.config, self._counts()),
            "regret": exploitability(self.config, chosen),
        }


def minutes(config: CrossingConfig, counts: ArrayLike) -> Odds:
    """Return what each way takes with so many travellers on it.

    >>> minutes(CrossingConfig(), [2, 2, 0]).tolist()
    [3.0, 3.0, 5.0]
    """
    found: Odds = np.asarray(config.base) + np.asarray(config.slow) * np.asarray(counts)
    return found


def potential(config: CrossingConfig, counts: ArrayLike) -> float:
    """Return Rosenthal's potential: of each way, the minutes of its first traveller to its last.

    >>> potential(CrossingConfig(), [2, 0, 0])  # 2 minutes, then 3
    5.0
    """
    n_R = np.asarray(counts, dtype=float)
    pairs_R = n_R * (n_R + 1) / 2
    return float(np.asarray(config.base) @ n_R + np.asarray(config.slow) @ pairs_R)


def expected_minutes(config: CrossingConfig, odds: ArrayLike) -> Odds:
    """Return what each traveller expects of each way, [travellers, ways].

    Args:
        config: of the world.
        odds: [travellers, ways], the chances by which each draws its way, independently.
    """
    odds_NR = np.asarray(odds, dtype=float)
    others_NR = odds_NR.sum(axis=0) - odds_NR
    return minutes(config, others_NR + 1)


def exploitability(config: CrossingConfig, odds: ArrayLike) -> float:
    """Return the most minutes that one traveller saves by another choice; 0 in equilibrium.

    Exact; the arguments are those of `expected_minutes`.

    >>> exploitability(CrossingConfig(), np.eye(3)[[0, 0]])  # 3 minutes, on the ferry 2.5
    0.5
    """
    odds_NR, spent_NR = np.asarray(odds, dtype=float), expected_minutes(config, odds)
    saved_N = (odds_NR * spent_NR).sum(axis=1) - spent_NR.min(axis=1)
    return float(saved_N.max())


def equilibrium(config: CrossingConfig, travellers: int) -> Odds:
    """Return the chances of the ways in the equilibrium in which all draw alike.

    Ways in use take the same time c: base_r + slow_r (1 + (N - 1) p_r) = c. The quickest ways are
    in use, as many as have p_r > 0.

    >>> equilibrium(CrossingConfig(), 2).round(4).tolist()
    [0.6667, 0.3333, 0.0]
    """
    alone_R, slow_R = minutes(config, 1), np.asarray(config.slow)
    order, others = np.argsort(alone_R, kind="stable"), travellers - 1
    for used in range(len(WAYS), 0, -1):
        at = order[:used]
        c = (others + (alone_R[at] / slow_R[at]).sum()) / (1 / slow_R[at]).sum()
        odds_R = np.zeros(len(WAYS))
        odds_R[at] = (c - alone_R[at]) / (slow_R[at] * others)
        if odds_R.min() >= 0:
            break
    return odds_R


raw_env, env, parallel_env = simultaneous(Crossing)
