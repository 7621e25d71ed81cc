"""Which game to play next when games are dear: ResponseGraphUCB.

Rowland et al. 2019, "Multiagent Evaluation under Incomplete Information". Every profile is played
once; then profiles on edges whose direction is still open are played until none is open or the
budget is spent. What a game costs is spent where the ranking is in doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import count, finite
from coevo.benchmarks.statistics.response_graph import (
    Confidence,
    Edge,
    Profile,
    ResponseGraph,
    edges_of,
)
from coevo.envs.core.errors import ConfigError, DataError, unknown

Play = Callable[[Profile, int], ArrayLike]
"""(profile, number of games) -> payoffs [games, roles], each in [0, 1]."""


class _Queue:
    """Open edges, by number, and the play counts of profiles; each scheme picks from it."""

    def __init__(self, edges: Sequence[Edge], rng: Generator) -> None:
        self.edges, self.rng = edges, rng
        self.open = dict.fromkeys(rng.permutation(len(edges)).tolist())
        self.at: dict[Profile, set[int]] = {}
        for number, edge in enumerate(edges):
            for profile in (edge.first, edge.second):
                self.at.setdefault(profile, set()).add(number)
        self.plays = dict.fromkeys(self.at, 0)

    def close(self, number: int) -> None:
        """Take a resolved edge out."""
        del self.open[number]
        for profile in (self.edges[number].first, self.edges[number].second):
            self.at[profile].discard(number)

    def either_end(self, number: int) -> Profile:
        """Give one of the two profiles of an edge."""
        edge = self.edges[number]
        return edge.second if self.rng.random() < 0.5 else edge.first


def _uniform(queue: _Queue) -> Profile:
    """Either end of any open edge."""
    numbers = list(queue.open)
    return queue.either_end(numbers[int(queue.rng.integers(len(numbers)))])


def _uniform_exhaustive(queue: _Queue) -> Profile:
    """Either end of the first open edge in a random order, until it is resolved."""
    return queue.either_end(next(iter(queue.open)))


def _valence_weighted(queue: _Queue) -> Profile:
    """Profiles in proportion to the square of their number of open edges."""
    weights = np.array([len(numbers) ** 2 for numbers in queue.at.values()], dtype=float)
    return list(queue.at)[int(queue.rng.choice(len(weights), p=weights / weights.sum()))]


def _count_weighted(queue: _Queue) -> Profile:
    """The least played profile with an open edge."""
    return min((p for p, numbers in queue.at.items() if numbers), key=queue.plays.__getitem__)


SCHEMES: dict[str, Callable[[_Queue], Profile]] = {
    "uniform_exhaustive": _uniform_exhaustive,
    "uniform": _uniform,
    "valence_weighted": _valence_weighted,
    "count_weighted": _count_weighted,
}
"""Ways to pick the next profile."""


def sample_response_graph(
    play: Play,
    shape: Sequence[int],
    rng: Generator,
    *,
    budget: int,
    scheme: str = "uniform_exhaustive",
    confidence: Confidence | None = None,
    batch: int = 1,
) -> ResponseGraph:
    """Play games until the direction of every edge is known, or the budget is spent.

    Equal payoffs never resolve; give `Confidence(slack=...)` where they may occur. The promise of
    `confidence` is exact at one number of games; looking after every game spends it slowly, which
    only `anytime=True` accounts for.

    Args:
        play: plays games of a profile; payoffs outside [0, 1] are refused.
        shape: number of strategies per role.
        rng: source of the order.
        budget: most games; at least one per profile.
        scheme: a name in SCHEMES.
        confidence: what bounds promise; 0.01 per payoff by Hoeffding if left out.
        batch: games per pick, for engines that play many at once.

    >>> rates = np.array([[0.5, 0.9], [0.1, 0.5]])
    >>> def play(profile, games):
    ...     return np.tile([rates[profile], 1 - rates[profile]], (games, 1))
    >>> graph = sample_response_graph(play, (2, 2), np.random.default_rng(0), budget=500)
    >>> len(graph.resolved), graph.alpha_rank().round(3).tolist()
    (4, [0.98, 0.01, 0.01, 0.0])
    """
    profiles = list(product(*(range(count("strategies", s)) for s in shape)))
    if scheme not in SCHEMES:
        raise unknown("sampling scheme", scheme, SCHEMES)
    if budget < len(profiles):
        raise ConfigError(f"budget={budget} is below one game for each of {len(profiles)} profiles")
    count("batch", batch)
    table = _Table(play, shape, confidence or Confidence(), rng)
    for profile in profiles:
        table.observe(profile, 1)
    spent = len(profiles)
    while table.queue.open and spent < budget:
        games = min(batch, budget - spent)
        table.observe(SCHEMES[scheme](table.queue), games)
        spent += games
    return table.graph(shape)


class _Table:
    """Means so far, their bounds and the edges that they have resolved."""

    def __init__(
        self, play: Play, shape: Sequence[int], confidence: Confidence, rng: Generator
    ) -> None:
        edges = edges_of(shape)
        if not edges:
            raise ConfigError(f"shape={tuple(shape)} has no edge: no role has two strategies")
        self.play, self.confidence, self.queue = play, confidence, _Queue(edges, rng)
        self.roles = len(shape)
        self.payoffs = self.roles * int(np.prod(shape))
        self.means: dict[Profile, list[float]] = {}
        self.bounds: dict[Profile, list[tuple[float, float]]] = {}
        self.resolved: list[Edge] = []

    def observe(self, profile: Profile, games: int) -> None:
        """Play a profile and resolve what its new bounds resolve."""
        seen = _mean_payoffs(self.play(profile, games), games, self.roles)
        self.queue.plays[profile] += games
        total = self.queue.plays[profile]
        before = self.means.get(profile, seen)
        means = [b + (s - b) * games / total for b, s in zip(before, seen, strict=True)]
        self.means[profile] = means
        self.bounds[profile] = [self.confidence.bounds(m, total, self.payoffs) for m in means]
        for number in list(self.queue.at[profile]):
            self._settle(number)

    def _settle(self, number: int) -> None:
        edge = self.queue.edges[number]
        if edge.first not in self.means or edge.second not in self.means:
            return
        arrow = self._directed(edge)
        if self.bounds[arrow.first][edge.role][1] < self.bounds[arrow.second][edge.role][0]:
            self.queue.close(number)
            self.resolved.append(arrow)

    def _directed(self, edge: Edge) -> Edge:
        """Turn an edge so that its second profile is the one with the higher mean."""
        if self.means[edge.first][edge.role] > self.means[edge.second][edge.role]:
            return Edge(edge.second, edge.first, edge.role)
        return edge

    def graph(self, shape: Sequence[int]) -> ResponseGraph:
        """Give what is known."""
        means, counts = np.zeros((self.roles, *shape)), np.zeros(tuple(shape))
        for profile, values in self.means.items():
            for role in range(self.roles):
                means[role][profile] = values[role]
            counts[profile] = self.queue.plays[profile]
        unresolved = tuple(self._directed(self.queue.edges[n]) for n in self.queue.open)
        return ResponseGraph(means, counts, tuple(self.resolved), unresolved)


def _mean_payoffs(values: ArrayLike, games: int, roles: int) -> list[float]:
    payoffs = finite("payoffs", values, ndim=2)
    if payoffs.shape != (games, roles):
        raise DataError(f"expected payoffs of shape {(games, roles)}, got {payoffs.shape}")
    low, high = float(payoffs.min()), float(payoffs.max())
    if low < 0 or high > 1:
        raise DataError(f"payoffs between {low} and {high}: scale them to [0, 1] first")
    return payoffs.mean(0).tolist() if games > 1 else payoffs[0].tolist()
