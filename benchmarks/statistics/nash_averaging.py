"""Nash averaging: agents weighed by an equilibrium, so that copies of an agent change nothing.

Balduzzi et al. (2018). For two-player zero-sum results. All agents that the equilibrium plays have
skill 0: it says who survives, not by how much. A mean win rate instead rewards beating whoever is
there most often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from coevo.benchmarks.statistics.arrays import Array, finite, square
from coevo.benchmarks.statistics.max_entropy import max_entropy
from coevo.envs.core.errors import ConfigError


class NashAverage(NamedTuple):
    """Agents against each other."""

    weights: Array
    """Maximum-entropy symmetric equilibrium over agents."""
    skill: Array
    """Expected payoff of each agent against it; 0 is the best there is."""


class TaskAverage(NamedTuple):
    """Agents against tasks."""

    agent_weights: Array
    """Maximum-entropy equilibrium of the player who picks agents."""
    task_weights: Array
    """Of the player who picks tasks, the hardest ones; 0 for dropped tasks."""
    skill: Array
    """Expected scaled score of each agent on those tasks."""
    difficulty: Array
    """Minus the expected scaled score of those agents on each task; NaN for dropped tasks."""
    dropped: tuple[int, ...]
    """Tasks on which all agents score the same: they say nothing and cannot be scaled."""


def log_odds(win_rate: ArrayLike, clip: float = 1e-3) -> Array:
    """Turn win rates into an antisymmetric matrix: log(p / (1 - p)), p clipped to [clip, 1 - clip].

    >>> log_odds([[0.5, 0.75], [0.25, 0.5]]).round(6).tolist()
    [[0.0, 1.098612], [-1.098612, 0.0]]
    """
    p = square("win rates", win_rate)
    if not 0 < clip < 0.5:
        raise ConfigError(f"clip={clip} must lie between 0 and 1/2")
    if (p < 0).any() or (p > 1).any() or not np.allclose(p + np.swapaxes(p, -1, -2), 1.0):
        raise ConfigError("win rates must lie in [0, 1], and p[i, j] + p[j, i] must be 1")
    odds = np.log(np.clip(p, clip, 1 - clip)) - np.log1p(-np.clip(p, clip, 1 - clip))
    return (odds - np.swapaxes(odds, -1, -2)) / 2


def nash_average(payoffs: ArrayLike) -> NashAverage:
    """Weigh agents by the maximum-entropy Nash equilibrium of an antisymmetric matrix.

    max entropy(p) subject to A p <= 0, p >= 0, sum p = 1; skill = A p.

    >>> nash_average([[0, -1, -1], [1, 0, -1], [1, 1, 0]]).skill.tolist()
    [-1.0, -1.0, 0.0]
    """
    a = square("payoffs", payoffs)
    if a.ndim != 2 or not np.allclose(a, -a.T):
        raise ConfigError("payoffs must be antisymmetric: what i wins from j, j loses to i")
    weights = max_entropy((a - a.T) / 2)
    return NashAverage(weights, a @ weights)


def nash_average_tasks(scores_KT: ArrayLike) -> TaskAverage:
    """Weigh agents and tasks by the equilibrium of the game in which one picks each.

    Every task is scaled to [0, 1] by its worst and best agent. The two players' problem is that of
    one symmetric game, so both weights have maximum entropy among their optimal strategies.

    >>> average = nash_average_tasks([[0.0, 1.0], [1.0, 0.0], [0.2, 0.2]])
    >>> average.agent_weights.round(4).tolist(), average.task_weights.round(4).tolist()
    ([0.5, 0.5, 0.0], [0.5, 0.5])
    """
    scores = finite("scores", scores_KT, ndim=2)
    low, high = scores.min(0), scores.max(0)
    kept = high > low
    if not kept.any():
        raise ConfigError("all agents score the same on every task: nothing tells them apart")
    scaled = (scores[:, kept] - low[kept]) / (high - low)[kept]
    agents, tasks = zero_sum(scaled)
    task_weights, difficulty = np.zeros(len(kept)), np.full(len(kept), np.nan)
    task_weights[kept], difficulty[kept] = tasks, -(scaled.T @ agents)
    dropped = tuple(int(i) for i in np.flatnonzero(~kept))
    return TaskAverage(agents, task_weights, scaled @ tasks, difficulty, dropped)


def zero_sum(payoffs: ArrayLike) -> tuple[Array, Array]:
    """Give maximum-entropy optimal strategies (row maximises, column minimises) of a matrix game.

    Optimal pairs are interchangeable, so the two sides are independent: the row's must earn the
    value v against every column, M^T p >= v, and v comes from any optimal pair.

    >>> [p.round(6).tolist() for p in zero_sum([[1, -1], [-1, 1]])]
    [[0.5, 0.5], [0.5, 0.5]]
    """
    m = finite("payoffs", payoffs, ndim=2)
    value = _value(m)
    # sum p = 1 turns v into a constant of every constraint: (v - M^T) p <= 0
    return max_entropy(value - m.T), max_entropy(m - value)


def _value(payoffs: Array) -> float:
    rows, columns = payoffs.shape
    found = linprog(
        np.append(np.zeros(rows), -1.0),
        A_ub=np.hstack([-payoffs.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, 1)] * rows + [(None, None)],
        method="highs",
    )
    return float(found.x[-1])


def nash_conv(tables: Sequence[ArrayLike], strategies: Sequence[ArrayLike]) -> Array:
    """Give what each player could gain by a best response; their sum is NashConv.

    regret_i = max_a u_i(a, pi_-i) - u_i(pi). All are 0 exactly in an equilibrium; in a two-player
    constant-sum game half the sum is the exploitability.

    Args:
        tables: payoff of each player, one axis per player.
        strategies: probabilities of each player.

    >>> pennies = np.array([[1, -1], [-1, 1]])
    >>> nash_conv([pennies, -pennies], [[0.6, 0.4], [0.5, 0.5]]).round(6).tolist()
    [0.0, 0.2]
    """
    payoffs = [finite("payoffs", t, ndim=len(tables)) for t in tables]
    mixed = [finite("strategy", s, ndim=1) for s in strategies]
    shape = tuple(len(s) for s in mixed)
    if any(p.shape != shape for p in payoffs):
        raise ConfigError(f"strategies of sizes {shape} do not fit {[p.shape for p in payoffs]}")
    if any((s < 0).any() or abs(s.sum() - 1) > 1e-6 for s in mixed):
        raise ConfigError("a strategy must hold probabilities that sum to 1")
    regrets = []
    for player, table in enumerate(payoffs):
        values = np.moveaxis(table, player, 0)
        for other in reversed([i for i in range(len(mixed)) if i != player]):
            values = values @ mixed[other]
        regrets.append(values.max() - values @ mixed[player])
    return np.array(regrets)
