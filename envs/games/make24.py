"""Make 24: join four numbers, two at a time, by plus, minus, times and divided by, to get 24.

Agents        solver_0
Observation   chat: rules and the numbers that are left
Action        text ending in a step in square brackets, e.g. [8 - 2]
Reward        1 for 24 after three steps, else 0
Ends          after three steps
Options       deals: 0 draws from all deals that can be solved, n from the same n of them
References    mean payoff: random 0.0088, oracle 1 (exact)

A deal is four numbers from 1 to 9 that can make 24; results may be fractions, never negative (a
smaller number is taken from a larger one). The expert chooses among the steps after which 24 can
still be made. Steps are what a search expands (rStar-Math, arXiv 2501.04519).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies, mostly

SOLVER = "solver_0"
GOAL, HIGH, COUNT = Fraction(24), 9, 4
Numbers = tuple[Fraction, ...]
"""What is left, rising."""


@functools.lru_cache(maxsize=100_000)
def steps(left: Numbers) -> dict[str, Numbers]:
    """Return every step and what is left after it.

    >>> {step: [str(n) for n in left] for step, left in steps((Fraction(2), Fraction(8))).items()}
    {'2 + 8': ['10'], '8 - 2': ['6'], '2 x 8': ['16'], '2 / 8': ['1/4'], '8 / 2': ['4']}
    """
    found: dict[str, Numbers] = {}
    for i, j in itertools.combinations(range(len(left)), 2):
        a, b = left[i], left[j]
        rest = [n for place, n in enumerate(left) if place not in (i, j)]
        results = {f"{a} + {b}": a + b, f"{b} - {a}": b - a, f"{a} x {b}": a * b}
        results |= {f"{a} / {b}": a / b} if b else {}
        results |= {f"{b} / {a}": b / a} if a else {}
        for step, result in results.items():
            found.setdefault(step, tuple(sorted([*rest, result])))
    return found


@functools.lru_cache(maxsize=100_000)
def solvable(left: Numbers) -> bool:
    """Return whether 24 can be made.

    >>> solvable((Fraction(3), Fraction(3), Fraction(8), Fraction(8)))
    True
    """
    return left == (GOAL,) if len(left) == 1 else any(map(solvable, steps(left).values()))


@functools.lru_cache(maxsize=100_000)
def by_chance(left: Numbers) -> float:
    """Return the probability that random steps make 24."""
    if len(left) == 1:
        return float(left == (GOAL,))
    after = steps(left).values()
    return sum(map(by_chance, after)) / len(after)


@functools.cache
def deals() -> tuple[Numbers, ...]:
    """Return all deals that can be solved, in an order of no meaning that never changes."""
    every = itertools.combinations_with_replacement(map(Fraction, range(1, HIGH + 1)), COUNT)
    found = [deal for deal in every if solvable(deal)]
    return tuple(found[i] for i in np.random.default_rng(24).permutation(len(found)))


@config
class Make24Config:
    deals: Annotated[int, whole(0, 300)] = 0
    """How many deals there are; 0 takes all."""


class Make24(ProtocolTask[Make24Config]):
    env_id = "coevo/make24-v0"
    config_class = Make24Config
    seats = (SOLVER,)
    payoff_range = (0.0, 1.0)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.done: list[str] = []
        place = int(rng.integers(self.config.deals or len(deals())))
        self.left = deals()[place]
        self.task_id = str(place)
        while len(self.left) > 1:
            step = yield One(SOLVER, moves=list(steps(self.left)))
            self.left = steps(self.left)[step]
            self.done.append(step)
        yield Pay({SOLVER: float(self.left == (GOAL,))})

    def expert(self, seat: str, skill: float) -> Replies:
        """Take a step after which 24 can still be made, where there is one; mostly."""
        after = steps(self.left)
        good = {step: float(solvable(left)) for step, left in after.items()}
        if not any(good.values()):
            good = dict.fromkeys(after, 1.0)
        return mostly(list(after), good, skill)

    def info(self, seat: str) -> dict[str, Any]:
        return {**super().info(seat), "numbers": [str(n) for n in self.left]}

    def outcome(self) -> dict[str, float]:
        """Return whether 24 was made."""
        return {"solved": float(self.left == (GOAL,))}

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        return (
            f"You are {seat}. Make 24 of four numbers. A step joins two of the numbers by plus, "
            "minus, times (x) or divided by; its result takes their place. After three steps one "
            "number is left. You get 1 point if it is 24, else nothing."
        )

    def situation(self, seat: str) -> str:
        moves = ", ".join(map(answer, steps(self.left)))
        return f"Left: {self._numbers()}. Which step do you take? Legal moves: {moves}"

    def terse(self, seat: str) -> str:
        numbers = self._numbers()
        return (
            f"Make 24 of {numbers} in steps: two of them, and +, -, x or / between. Answer [move]"
        )

    def _numbers(self) -> str:
        return ", ".join(map(str, self.left))

    def draw(self) -> str:
        return "\n".join([*self.done, f"left: {self._numbers()}"])


raw_env, env = turn_based(Make24)
