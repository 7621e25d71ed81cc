"""The next pair to play where episodes are expensive: ResponseGraphUCB.

Rowland et al. 2019, with the bounds of `coevo.benchmarks.statistics.response_graph`. Two things
are different. Both sides of a task are played at once, so one block of episodes narrows the
bounds of both agents; and a pair has a limit of its own. The next pair is always the least played
one that an open question needs.

    contest      one question per pair: who scores more? (a node is an agent, as in the
                 one-population alpha-Rank that is printed)
    otherwise    one question per edge of the response graph of (first seat, second seat) profiles:
                 which of two agents does better in a seat against a given partner?
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from coevo.benchmarks.statistics.response_graph import edges_of, hoeffding
from coevo.benchmarks.tournament.pairings import Pairing
from coevo.benchmarks.tournament.schedule import Pair

DELTA = 0.05
"""Chance that any of the directions that are called known is wrong, whenever one looks."""


class Mean(NamedTuple):
    """One mean that is estimated."""

    pair: Pair
    first: str
    """Who sits first; in a contest, whose margin it is."""
    role: int = 0
    """Whose score: 0 for the first seat, 1 for the other."""


class MeanComparison(NamedTuple):
    """Which of two means is higher."""

    left: Mean
    right: Mean


@dataclass(frozen=True)
class OpenQuestions:
    """What is known about the order of means.

    Args:
        agents: in order of name.
        contest: whether the pairs of a contest are compared, or profiles of seats.
        span: lowest and highest payoff of a seat.
    """

    agents: tuple[str, ...]
    contest: bool
    span: tuple[float, float]
    delta: float = DELTA

    def questions(self) -> list[MeanComparison]:
        """List everything that a ranking has to know."""
        if not self.contest:
            return self._profile_questions()
        named = [(a, b) for i, a in enumerate(self.agents) for b in self.agents[i + 1 :]]
        return [MeanComparison(Mean(pair, pair[0]), Mean(pair, pair[1])) for pair in named]

    def _profile_questions(self) -> list[MeanComparison]:
        def mean(profile: Sequence[int], role: int) -> Mean:
            first, second = (self.agents[i] for i in profile)
            return Mean((min(first, second), max(first, second)), first, role)

        edges = edges_of((len(self.agents),) * 2)
        return [MeanComparison(mean(e.first, e.role), mean(e.second, e.role)) for e in edges]

    def known(self, question: MeanComparison, found: Mapping[Pair, Pairing]) -> bool:
        """Return whether the bounds of the two means no longer touch."""
        bounds = [self._bounds(mean, found) for mean in question]
        if None in bounds:
            return False
        (low, high), (other_low, other_high) = bounds  # type: ignore[misc]
        return bool(high < other_low or other_high < low)

    def _bounds(self, of: Mean, found: Mapping[Pair, Pairing]) -> tuple[float, float] | None:
        pairings = found[of.pair]
        if not pairings.tasks:
            return None
        low, high = self.span
        if self.contest:
            sign = 1 if of.first == of.pair[0] else -1
            mean = 0.5 + sign * pairings.mean_margin / (high - low)
        else:
            mean = (pairings.mean_roles[of.first, of.role] - low) / (high - low)
        return hoeffding(mean, pairings.tasks, self._means, self.delta)

    @property
    def _means(self) -> int:
        """Means that are estimated: both margins of a pair are one."""
        size = len(self.agents)
        return size * (size - 1) // 2 if self.contest else 2 * size * size

    def open(self, found: Mapping[Pair, Pairing]) -> list[MeanComparison]:
        return [q for q in self.questions() if not self.known(q, found)]

    def next_pair(self, found: Mapping[Pair, Pairing], finished: Collection[Pair]) -> Pair | None:
        """Choose the least played pair that an open question needs; None where there is none."""
        wanted = {mean.pair for q in self.open(found) for mean in q} - set(finished)
        return min(wanted, key=lambda pair: (found[pair].played, pair), default=None)
