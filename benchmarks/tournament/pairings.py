"""The results of two agents, task by task.

A task is one start state. Its episodes share its luck, so it is the unit of every interval and test
here. A task counts once all of its episodes could be finished; otherwise one side would have had
the better seat more often.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coevo.benchmarks.statistics.arrays import Array
from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.benchmarks.statistics.cross_play import CrossPlay, Game
from coevo.benchmarks.statistics.standard_errors import suite_score, z_value
from coevo.benchmarks.tournament.episode_log import EpisodeRecord
from coevo.benchmarks.tournament.schedule import Pair, Schedule, first_of, lineups

IMAGINED = (0.0, 1.0)
"""Tasks added to those that were played before the interval of a share of points is taken."""


@dataclass(frozen=True)
class Pairing:
    """The episodes of one pair."""

    pair: Pair
    episodes: tuple[EpisodeRecord, ...]
    """Of tasks that count, task by task."""
    played: int
    """All episodes, those left out included."""
    failed: int
    tasks: int

    def per_task(self, agent: str) -> Array:
        """Return an agent's mean score on every task."""
        return self._means([p.mean_payoff(agent) for p in self.episodes])

    def points(self) -> Array:
        """Return the first agent's mean points on every task; NaN without a contest."""
        name = self.pair[0]
        return self._means(
            [math.nan if p.result is None else p.result[name] for p in self.episodes]
        )

    def margin(self) -> Array:
        """Return half the difference of the two agents' scores on every task."""
        first, second = self.pair
        return (self.per_task(first) - self.per_task(second)) / 2

    @cached_property
    def mean_margin(self) -> float:
        """Mean over tasks of `margin`; NaN without tasks."""
        return float(self.margin().mean()) if self.tasks else math.nan

    @cached_property
    def mean_roles(self) -> dict[tuple[str, int], float]:
        """(Who sits first, role) -> mean over tasks of `role`."""
        keys = [(first, role) for first in dict.fromkeys(self.pair) for role in (0, 1)]
        return {key: float(self.role(*key).mean()) for key in keys} if self.tasks else {}

    def role(self, first: str, role: int) -> Array:
        """Return the score of a role on every task while `first` has the first seat."""
        scored = [p for p in self.episodes if first_of(p.seats) == first]
        values = [self._of_role(p, role) for p in scored]
        return np.asarray(values, dtype=float).reshape(self.tasks, -1).mean(1)

    def _of_role(self, e: EpisodeRecord, role: int) -> float:
        if self.pair[0] != self.pair[1]:
            first = first_of(e.seats)
            names = (first, next(n for n in self.pair if n != first))
            return e.mean_payoff(names[role])
        scores = list(e.payoffs.values())
        return scores[0] if role == 0 else sum(scores[1:]) / len(scores[1:])

    def games(self) -> list[Game]:
        """Return the episodes as the rating functions take them."""
        found = []
        for e in self.episodes:
            first = first_of(e.seats)
            second = next((n for n in self.pair if n != first), first)
            points = 0.5 if e.result is None else e.result[first]
            payoffs = (self._of_role(e, 0), self._of_role(e, 1))
            found.append(Game(first, second, points, e.task, payoffs))
        return found

    def _means(self, values: Iterable[float]) -> Array:
        table = np.asarray(list(values), dtype=float)
        return table.reshape(self.tasks, -1).mean(1) if self.tasks else table


def pairing(schedule: Schedule, pair: Pair, episodes: Iterable[EpisodeRecord]) -> Pairing:
    """Sort the episodes of one pair by task, and leave out tasks that were not finished."""
    tasks: dict[int, list[EpisodeRecord]] = defaultdict(list)
    for e in episodes:
        tasks[e.task].append(e)
    size = len(lineups(schedule.seats, pair))
    every = [e for _, episodes in sorted(tasks.items()) for e in episodes]
    whole = [
        episodes
        for _, episodes in sorted(tasks.items())
        if len(episodes) == size and not any(p.failed for p in episodes)
    ]
    counted = tuple(e for episodes in whole for e in episodes)
    failed = sum(p.failed for p in every)
    return Pairing(pair, counted, len(every), failed, len(whole))


def cross_play(found: dict[Pair, Pairing], agents: Iterable[str]) -> CrossPlay:
    """Return the games between some agents, in order of name."""
    chosen = sorted(agents)
    games = [g for pair, m in found.items() if set(pair) <= set(chosen) for g in m.games()]
    return CrossPlay(tuple(chosen), tuple(games))


def mean_interval(values: Array) -> Interval:
    """Return the mean over tasks with Student's t; bounds are NaN under two tasks."""
    return suite_score(values.tolist()).interval


def points_interval(values: Array) -> Interval:
    """Return a share of points with an interval that is sound near 0 and 1, and for equal tasks.

    After Agresti and Coull (1998), on tasks: a lost and a won one are imagined, the mean and its
    standard error are taken over all, and bounds are cut to [0, 1]. From 16 tasks on the simulated
    coverage is 93.5 % or more, however the episodes of a task hang together; without the two it
    falls to 28 % near 0 and 1.

    >>> str(points_interval(np.ones(50)))
    '1.000 [0.943, 1.000] (n = 50)'
    """
    padded = np.concatenate([values, IMAGINED])
    width = z_value(0.95) * padded.std(ddof=1) / math.sqrt(len(padded))
    point, centre = float(values.mean()), float(padded.mean())
    low, high = max(0.0, centre - width), min(1.0, centre + width)
    return Interval(min(low, point), point, max(high, point), len(values))
