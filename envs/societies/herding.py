"""Sequential social learning with a planner who sets the precision of public signals.

A state is good or bad with public belief b that it is good. An agent gets a signal that is right
with probability q, and wants to act as the state is. It follows the signal while 1 - q <= b <= q,
and otherwise acts as all expect (it herds). Only in the first case does an action move the
belief, by Bayes' rule:

    b_G = q b / (1 + 2 b q - b - q),    b_B = (1 - q) b / (b + q - 2 b q).

The planner pays for a precision away from the baseline p, here k (q - p)^2, and C where the agent
errs (altruistic) or acts bad (biased). After Steering the Herd (arXiv 2504.02648); its cost
function is not public, and the quadratic one is ours. With k = 6, C = 1, p = 0.6 and a discount of
0.9 it shows the paper's three phases: baseline at extreme beliefs, just informative between, full
near 1/2.
"""

from __future__ import annotations

import functools
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coevo.envs.core.config import config, real

Array = NDArray[np.float64]
EQUAL = 1e-9


@config
class HerdCosts:
    """Costs of a planner."""

    planner: Literal["altruistic", "biased"] = "altruistic"
    """Pays for errors, or for every action that is not good."""
    baseline: Annotated[float, real(0.5, 1)] = 0.6
    """p: precision that costs nothing."""
    precision_cost: Annotated[float, real(0)] = 20.0
    """k in k (q - p)^2."""
    error_cost: Annotated[float, real(0)] = 1.0
    """C, of planner and agents."""

    def of_precision(self, q: ArrayLike) -> Array:
        """Return what precisions cost: k (q - p)^2."""
        return np.asarray(self.precision_cost * (np.asarray(q, dtype=float) - self.baseline) ** 2)


def informative(belief: ArrayLike, q: ArrayLike) -> NDArray[np.bool_]:
    """Return whether an agent follows its signal: 1 - q <= b <= q; ties follow it.

    >>> informative(0.5, 0.6).item(), informative(0.7, 0.6).item()
    (True, False)
    """
    b, precision = np.asarray(belief), np.asarray(q)
    return (1 - precision <= b + EQUAL) & (b <= precision + EQUAL)


def updated(belief: ArrayLike, q: ArrayLike) -> tuple[Array, Array]:
    """Return the belief after a good and after a bad action that followed the signal.

    >>> [round(float(x), 4) for x in updated(0.5, 0.8)]
    [0.8, 0.2]
    """
    b, precision = np.asarray(belief, dtype=float), np.asarray(q, dtype=float)
    good = precision * b + (1 - precision) * (1 - b)
    bad = 1 - good
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = precision * b / good, (1 - precision) * b / bad
    return np.where(good > 0, up, b), np.where(bad > 0, down, b)


class Stage(NamedTuple):
    """What an agent does at a belief, with a precision."""

    good: Array
    """Probability that the action is good."""
    wrong: Array
    """Probability that it is wrong."""


def stage(belief: ArrayLike, q: ArrayLike) -> Stage:
    """Return how likely good and wrong actions are of an agent who follows or herds."""
    b, precision = np.asarray(belief, dtype=float), np.asarray(q, dtype=float)
    follows = informative(b, precision)
    signal = precision * b + (1 - precision) * (1 - b)
    herd = (b >= 0.5).astype(float)
    good = np.where(follows, signal, herd)
    wrong = np.where(follows, 1 - precision, np.minimum(b, 1 - b))
    return Stage(good, wrong)


def planner_reward(costs: HerdCosts, belief: ArrayLike, q: ArrayLike) -> Array:
    """Return the planner's expected reward of one agent."""
    found = stage(belief, q)
    minded = found.wrong if costs.planner == "altruistic" else 1 - found.good
    return np.asarray(-costs.of_precision(q) - costs.error_cost * minded)


class Line(NamedTuple):
    """What a finite line of agents comes to, in expectation."""

    planner: float
    """The planner's total reward."""
    errors: float
    """Number of agents who act wrongly."""
    precision: float
    """The planner's next choice."""


@functools.lru_cache(maxsize=200_000)
def best_line(costs: HerdCosts, belief: float, left: int, precisions: tuple[float, ...]) -> Line:
    """Return what the best planner reaches with so many agents left, by exact recursion."""
    if not left:
        return Line(0.0, 0.0, precisions[0])
    found = []
    for q in precisions:
        this = stage(belief, q)
        branches = [(1.0, belief)]
        if informative(belief, q):
            up, down = (round(float(x), 12) for x in updated(belief, q))
            branches = [(float(this.good), up), (1 - float(this.good), down)]
        later = [(p, best_line(costs, b, left - 1, precisions)) for p, b in branches if p > 0]
        found.append(
            Line(
                float(planner_reward(costs, belief, q)) + sum(p * x.planner for p, x in later),
                float(this.wrong) + sum(p * x.errors for p, x in later),
                q,
            )
        )
    return max(found, key=lambda line: round(line.planner, 9))
