"""A stock that regrows: growth, what lasts, catches beyond it, best and random yields."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import numpy as np

from coevo.envs.core.config import choice, config, real

Growth = Callable[[float], int]


@config
class Doubling:
    """What is left doubles (GovSim)."""

    name: Literal["doubling"] = "doubling"

    def grown(self, left: int, capacity: int) -> int:
        return min(capacity, 2 * left)


@config
class Logistic:
    """S + r S (1 - S / K), in whole units."""

    name: Literal["logistic"] = "logistic"
    rate: Annotated[float, real(0, 2)] = 0.8
    """r."""

    def grown(self, left: int, capacity: int) -> int:
        return min(capacity, round(left + self.rate * left * (1 - left / capacity)))


Regrowth = Annotated[Doubling | Logistic, choice()]
"""How a stock regrows."""


def lasting(regrowth: Doubling | Logistic, stock: int, capacity: int) -> int:
    """Return the largest total harvest after which the stock is as large again.

    >>> lasting(Doubling(), 100, 100), lasting(Doubling(), 41, 100)
    (50, 20)
    """
    kept = (h for h in range(stock, -1, -1) if regrowth.grown(stock - h, capacity) >= stock)
    return next(kept, 0)


def shared_out(wanted: Sequence[int], stock: int, rule: str, rng: np.random.Generator) -> list[int]:
    """Return what each gets of a stock; a stock that is large enough meets all wishes.

    Args:
        wanted: units by seat.
        stock: units that there are.
        rule: `random` hands units out one by one to a random seat that still wants one;
            `proportional` gives whole shares, and what is left over to the largest remainders.
        rng: of `random`.

    >>> shared_out([30, 10], 20, "proportional", np.random.default_rng(0))
    [15, 5]
    """
    if sum(wanted) <= stock:
        return list(wanted)
    if rule == "random":
        return _one_by_one(wanted, stock, rng)
    exact = np.array(wanted) * stock / sum(wanted)
    got = np.floor(exact).astype(int)
    rest = np.argsort(got - exact, kind="stable")[: stock - int(got.sum())]
    got[rest] += 1
    return [int(g) for g in got]


def _one_by_one(wanted: Sequence[int], stock: int, rng: np.random.Generator) -> list[int]:
    got = [0] * len(wanted)
    wanting = [seat for seat, units in enumerate(wanted) if units]
    for _ in range(stock):
        lucky = wanting[int(rng.integers(len(wanting)))]
        got[lucky] += 1
        if got[lucky] == wanted[lucky]:
            wanting.remove(lucky)
    return got


def best_yield(
    regrowth: Doubling | Logistic, stock: int, capacity: int, low: int, rounds: int
) -> int:
    """Return the largest total harvest of all rounds together, by dynamic programming.

    >>> best_yield(Doubling(), 100, 100, 5, 12)
    650
    """
    grown = np.array([regrowth.grown(s, capacity) for s in range(capacity + 1)])
    value = np.zeros(capacity + 1, dtype=int)
    for _ in range(rounds):
        after = np.where(np.arange(capacity + 1) < low, 0, value[grown])
        later = np.array([max(s - k + after[k] for k in range(s + 1)) for s in range(capacity + 1)])
        value = later
    return int(value[stock])


@functools.lru_cache(maxsize=1024)
def random_yield(
    regrowth: Doubling | Logistic, stock: int, capacity: int, low: int, rounds: int, seats: int
) -> float:
    """Return the expected total harvest where every seat asks for 0 .. stock evenly, exactly."""
    value = np.zeros(capacity + 1)
    for _ in range(rounds):
        later = np.zeros(capacity + 1)
        for s in range(low, capacity + 1):
            one, demand = np.full(s + 1, 1 / (s + 1)), np.ones(1)
            for _ in range(seats):
                demand = np.convolve(demand, one)
            taken = np.append(demand[:s], demand[s:].sum())
            rest = s - np.arange(s + 1)
            after = [value[regrowth.grown(int(r), capacity)] if r >= low else 0.0 for r in rest]
            later[s] = float(taken @ (np.arange(s + 1) + after))
        value = later
    return float(value[stock])
