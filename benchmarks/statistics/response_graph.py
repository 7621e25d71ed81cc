"""The response graph of a meta-game and how sure its arrows are (Rowland et al. 2019).

Nodes are pure profiles; an edge joins two that differ in one role's strategy and points to what
pays that role more. alpha-Rank at infinite alpha reads nothing else, so it is enough to know every
direction. An edge is resolved once the confidence bounds of its two payoffs no longer touch.
OpenSpiel's ResponseGraphUCB has the same bounds, but draws its games itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

from coevo.benchmarks.statistics.arrays import count, share

Profile = tuple[int, ...]
"""One strategy per role."""


@dataclass(frozen=True)
class Edge:
    """Two profiles that differ in one role."""

    first: Profile
    second: Profile
    role: int
    """Which role's strategy differs."""


def edges_of(shape: Sequence[int]) -> list[Edge]:
    """Return every pair of profiles that differ in one role.

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
    """What the Hoeffding bounds of a payoff in [0, 1] promise."""

    delta: float = 0.01
    """Accepted chance of error."""
    joint: bool = False
    """delta holds for all payoffs together: each gets delta / (roles * profiles)."""
    anytime: bool = False
    """delta holds however often one looks: times 6 / (pi^2 n^2) after n games."""

    def __post_init__(self) -> None:
        share("delta", self.delta)

    def bounds(self, mean: float, games: int, payoffs: int) -> tuple[float, float]:
        """Return the lower and upper bound of a mean payoff: mean -+ sqrt(log(2 / delta) / (2 n)).

        >>> [round(b, 6) for b in Confidence().bounds(0.5, 100, 18)]
        [0.337238, 0.662762]
        """
        delta = self.delta / payoffs if self.joint else self.delta
        if self.anytime:
            delta *= 6 / (math.pi * games) ** 2
        width = math.sqrt(math.log(2 / delta) / (2 * count("games", games)))
        return mean - width, mean + width
