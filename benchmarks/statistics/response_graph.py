"""The response graph of a meta-game and how sure its arrows are.

Nodes are pure profiles; an edge joins two that differ in one role's strategy and points to what
pays that role more. alpha-Rank at infinite alpha reads nothing else, so it is enough to know every
direction. An edge is resolved once the confidence bounds of its two payoffs no longer touch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

from coevo.benchmarks.statistics.alpha_rank import (
    alpha_rank_limit,
    one_population_per_role,
)
from coevo.benchmarks.statistics.arrays import Array, count, share
from coevo.benchmarks.statistics.errors import clopper_pearson, hoeffding_width
from coevo.envs.core.errors import ConfigError, unknown

Profile = tuple[int, ...]
"""One strategy per role."""
BOUNDS = ("hoeffding", "clopper_pearson")


@dataclass(frozen=True)
class Edge:
    """Two profiles that differ in one role."""

    first: Profile
    second: Profile
    role: int
    """Which role's strategy differs."""


def edges_of(shape: Sequence[int]) -> list[Edge]:
    """List every pair of profiles that differ in one role.

    >>> len(edges_of((3, 3))), edges_of((2, 1))
    (18, [Edge(first=(0, 0), second=(1, 0), role=0)])
    """
    edges = []
    for role, size in enumerate(shape):
        others = [range(s) if r != role else range(1) for r, s in enumerate(shape)]
        for rest in product(*others):
            for low, high in combinations(range(size), 2):
                pair = [(*rest[:role], strategy, *rest[role + 1 :]) for strategy in (low, high)]
                edges.append(Edge(pair[0], pair[1], role))
    return edges


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """What a payoff's bounds promise.

    Raises:
        ConfigError: delta or slack is out of range.
        UnknownNameError: there is no such bound.
    """

    bound: str = "hoeffding"
    """`hoeffding` for payoffs in [0, 1], `clopper_pearson` for wins and losses (narrower)."""
    delta: float = 0.01
    """Accepted chance of error."""
    joint: bool = False
    """delta holds for all payoffs together: each gets delta / (roles * profiles)."""
    anytime: bool = False
    """delta holds however often one looks: times 6 / (pi^2 n^2) after n games."""
    slack: float = 0.0
    """Taken off every half-width: payoffs that nearly tie resolve early, perhaps wrongly."""

    def __post_init__(self) -> None:
        share("delta", self.delta)
        if self.bound not in BOUNDS:
            raise unknown("bound", self.bound, BOUNDS)
        if not 0 <= self.slack < 1:
            raise ConfigError(f"slack={self.slack} must be at least 0 and below 1")

    def bounds(self, mean: float, games: int, payoffs: int) -> tuple[float, float]:
        """Give the lower and upper bound of a mean payoff.

        Args:
            mean: observed.
            games: behind it.
            payoffs: roles times profiles of the whole game.

        >>> [round(b, 6) for b in Confidence().bounds(0.5, 100, 18)]
        [0.337238, 0.662762]
        """
        delta = self.delta / payoffs if self.joint else self.delta
        if self.anytime:
            delta *= 6 / (math.pi * games) ** 2
        if self.bound == "clopper_pearson":
            exact = clopper_pearson(min(mean * games, games), games, 1 - delta)
            return exact.low + self.slack, exact.high - self.slack
        width = hoeffding_width(games, delta) - self.slack
        return mean - width, mean + width


def uniform_games(gap: float, shape: Sequence[int], delta: float) -> float:
    """Games per profile after which all edges are right with chance 1 - delta, if spread evenly.

    (2 / gap^2) log(2 |S| K / delta) by Hoeffding's bound and a union over the payoffs, for
    payoffs in [0, 1] and the smallest difference `gap` on an edge.

    >>> round(uniform_games(0.1, (3, 3), 0.05), 2)
    1315.85
    """
    profiles = math.prod(count("strategies", s) for s in shape)
    size = 2 * profiles * len(shape) / share("delta", delta)
    if not 0 < gap <= 1:
        raise ConfigError(f"gap={gap} must be above 0 and at most 1")
    return 2 / gap**2 * math.log(size)


@dataclass(frozen=True)
class ResponseGraph:
    """Estimated payoffs and which directions they settle."""

    means: Array
    """Mean payoff [roles, *strategies]."""
    counts: Array
    """Games [*strategies]."""
    resolved: tuple[Edge, ...]
    """Edges from the worse profile (first) to the better one (second), beyond doubt."""
    unresolved: tuple[Edge, ...]
    """The other edges, directed by their means."""

    @property
    def games(self) -> int:
        """Games played in all."""
        return int(self.counts.sum())

    def directions(self) -> dict[frozenset[Profile], Profile]:
        """Give the better profile of every edge."""
        return {frozenset((e.first, e.second)): e.second for e in self.resolved + self.unresolved}

    def alpha_rank(self, epsilon: float = 0.01) -> Array:
        """Give the share of time at every profile for infinite alpha, in row-major order.

        Payoffs that are equal in the sample count as ties.
        """
        return alpha_rank_limit(one_population_per_role(list(self.means)), epsilon)
