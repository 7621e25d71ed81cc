"""The payoff of sequential public goods, and its subgame-perfect equilibrium by backward induction.

With contributions c in [0, 1] of n players who move in order,

    R_i = -k c_i^a + g c_i C_{<i} / B + (m / n) C_n - P [C_n < B],

C_{<i} the sum before player i and C_n the sum of all. The four parts (own cost, bonus for building
on what is there, equal share, collective penalty) are those of MAC-SPGG (Liang et al.,
arXiv 2508.02076, and its released constants); how they are joined is our reading, since the
released code has no reward.
"""

from __future__ import annotations

import itertools
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.config import config, real, whole

EQUAL = 1e-12


@config
class GoodsConfig:
    players: Annotated[int, whole(2, 8)] = 3
    """Seats, in the order in which they give."""
    levels: Annotated[int, whole(2, 21)] = 6
    """Contributions that may be chosen: 0 to 1 in equal steps."""
    cost: Annotated[float, real(0)] = 1.0
    """k: cost of contributing 1."""
    power: Annotated[float, real(1)] = 1.0
    """a: 1 for linear cost, 2 for quadratic."""
    bonus: Annotated[float, real(0)] = 1.5
    """g: weight of building on earlier contributions; 0 with penalty 0 is plain public goods."""
    multiplier: Annotated[float, real(0)] = 1.8
    """m: what a contribution of 1 is worth to all together."""
    penalty: Annotated[float, real(0)] = 1.5
    """P: what every player loses where the sum stays under the threshold."""
    threshold: Annotated[float, real(above=0)] = 0.85
    """B: sum of contributions that is asked for."""


class Equilibrium(NamedTuple):
    """Solution of the game by backward induction."""

    path: tuple[float, ...]
    """Contributions on the equilibrium path."""
    payoffs: tuple[float, ...]
    """Of each player on that path."""
    best: NDArray[np.int_]
    """Level that player i gives after a sum of s steps, [players, steps]."""


def goods_payoff(given: GoodsConfig, before: float, own: float, total: float) -> float:
    """Return R_i of a player."""
    short = total < given.threshold - EQUAL
    return (
        -given.cost * own**given.power
        + given.bonus * own * before / given.threshold
        + given.multiplier / given.players * total
        - given.penalty * short
    )


def equilibrium(given: GoodsConfig) -> Equilibrium:
    """Return the subgame-perfect equilibrium where all see what was given; ties give less.

    >>> equilibrium(GoodsConfig()).path
    (0.4, 1.0, 1.0)
    >>> equilibrium(GoodsConfig(bonus=0.0, penalty=0.0)).path
    (0.0, 0.0, 0.0)
    """
    n, steps = given.players, given.levels - 1
    final = np.arange(n * steps + 1)  # sum at the end, by the sum now: no player is left to give
    best = np.zeros((n, n * steps + 1), dtype=int)
    for i in reversed(range(n)):
        reached = np.zeros(n * steps + 1, dtype=int)
        for s in range(i * steps + 1):
            worth = [
                goods_payoff(given, s / steps, c / steps, final[s + c] / steps)
                for c in range(given.levels)
            ]
            best[i, s] = next(c for c, w in enumerate(worth) if w >= max(worth) - EQUAL)
            reached[s] = final[s + best[i, s]]
        final = reached
    path: list[float] = []
    for i in range(n):
        path.append(best[i, round(sum(path) * steps)] / steps)
    return Equilibrium(tuple(map(float, path)), payoffs(given, path), best)


def payoffs(given: GoodsConfig, path: list[float]) -> tuple[float, ...]:
    """Return the payoffs of contributions in order."""
    total = sum(path)
    return tuple(
        float(goods_payoff(given, sum(path[:i]), own, total)) for i, own in enumerate(path)
    )


def payoff_bounds(given: GoodsConfig) -> tuple[float, float]:
    """Return the lowest and highest payoff, over all sums before and after each player.

    In what comes after, payoffs rise but for the jump at the threshold: its two sides and both ends
    are enough.
    """
    steps, found = given.levels - 1, []
    enough = int(np.ceil(given.threshold * steps - EQUAL))
    for i in range(given.players):
        most = (given.players - 1 - i) * steps
        for before, own in itertools.product(range(i * steps + 1), range(given.levels)):
            here = before + own
            for after in {
                0,
                most,
                *(x - here for x in (enough - 1, enough) if 0 <= x - here <= most),
            }:
                total = (here + after) / steps
                found.append(goods_payoff(given, before / steps, own / steps, total))
    return min(found), max(found)
