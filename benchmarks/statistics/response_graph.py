"""The response graph of a meta-game and how sure its arrows are (Rowland et al. 2019).

Nodes are pure profiles; an edge joins two that differ in one role's strategy and points to what
pays that role more. alpha-Rank at infinite alpha reads nothing else, so it is enough to know every
direction. An edge is resolved once the confidence bounds of its two payoffs no longer touch.
OpenSpiel's ResponseGraphUCB has the same bounds, but draws its games itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import NamedTuple

Profile = tuple[int, ...]
"""One strategy per role."""


class Edge(NamedTuple):
    """Two profiles that differ in the strategy of one role."""

    first: Profile
    second: Profile
    role: int


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


def hoeffding(mean: float, games: int, payoffs: int, delta: float) -> tuple[float, float]:
    """Return bounds of the mean of a payoff in [0, 1]: mean -+ sqrt(log(2 / d) / (2 n)).

    With d = 6 delta / (payoffs (pi n)^2) they are right together for that many payoffs, however
    often one looks, but for a chance of delta.

    >>> [round(b, 6) for b in hoeffding(0.5, 100, 18, 0.01)]
    [0.200862, 0.799138]
    """
    d = 6 * delta / payoffs / (math.pi * games) ** 2
    width = math.sqrt(math.log(2 / d) / (2 * games))
    return mean - width, mean + width
