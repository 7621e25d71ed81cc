"""Nash averaging: agents weighed by an equilibrium, so that copies of an agent change nothing.

Balduzzi et al. (2018). For two-player zero-sum results. All agents that the equilibrium plays have
skill 0: it says who survives, not by how much. A mean win rate instead rewards beating the
agents that are there most often.

OpenSpiel finds the same figures (the tests hold them) through cvxpy, which it does not install and
whose solvers weigh 200 MB; SciPy's are enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from coevo.benchmarks.statistics.arrays import Array, finite, square
from coevo.envs.core.errors import CoevoError, ConfigError

FEASIBLE = 1e-9
"""Violation of a constraint that is taken for rounding."""
ZERO = 1e-7
"""Largest probability that a coordinate can have and still count as always 0."""
PENALTY = 1e-12
"""Added inside logarithms."""


class NashAverage(NamedTuple):
    """Agents against each other."""

    weights: Array
    """Maximum-entropy symmetric equilibrium over agents."""
    skill: Array
    """Expected payoff of each agent against it; 0 is the best there is."""


def log_odds(win_rate: ArrayLike, clip: float = 1e-3) -> Array:
    """Return win rates as an antisymmetric matrix: log(p / (1 - p)), p in [clip, 1 - clip]."""
    p = square("win rates", win_rate)
    if not 0 < clip < 0.5:
        raise ConfigError(f"clip={clip} must lie between 0 and 1/2")
    if (p < 0).any() or (p > 1).any() or not np.allclose(p + np.swapaxes(p, -1, -2), 1.0):
        raise ConfigError("win rates must lie in [0, 1], and p[i, j] + p[j, i] must be 1")
    odds = logit(np.clip(p, clip, 1 - clip))
    return (odds - np.swapaxes(odds, -1, -2)) / 2


def nash_average(payoffs: ArrayLike) -> NashAverage:
    """Return agents weighed by the maximum-entropy equilibrium of an antisymmetric matrix.

    max entropy(p) subject to A p <= 0, p >= 0, sum p = 1; skill = A p.

    >>> nash_average([[0, -1, -1], [1, 0, -1], [1, 1, 0]]).skill.tolist()
    [-1.0, -1.0, 0.0]
    """
    a = square("payoffs", payoffs)
    if a.ndim != 2 or not np.allclose(a, -a.T):
        raise ConfigError("payoffs must be antisymmetric: what i wins from j, j loses to i")
    a = (a - a.T) / 2
    weights = _only_equilibrium(a)
    if weights is None:
        weights = max_entropy(a)
    return NashAverage(weights, a @ weights)


def _only_equilibrium(payoffs: Array) -> Array | None:
    """Return the equilibrium where there is one alone, as almost always with unequal payoffs.

    All equilibria p, q have p A q = 0. So q plays only what ties against p; and if this is what p
    plays, q solves A q = 0 over the support of p, where A of rank |support| - 1 leaves p alone.
    """
    scale = np.abs(payoffs).max() or 1.0
    p = _feasible(payoffs / scale, np.zeros(len(payoffs)))
    played = p > ZERO
    ties = payoffs @ p > -ZERO * scale
    own = payoffs[np.ix_(played, played)] / scale
    if (played != ties).any() or np.linalg.matrix_rank(own, tol=ZERO) < played.sum() - 1:
        return None
    return p / p.sum()


def nash_average_tasks(scores_KT: ArrayLike) -> Array:
    """Return agents weighed by the equilibrium of the game in which another player picks the task.

    Every task is scaled to [0, 1] by its worst and best agent; tasks on which all agents score the
    same are left out. The weights must earn the value of the game on every task.

    >>> nash_average_tasks([[0.0, 1.0], [1.0, 0.0], [0.2, 0.2]]).round(4).tolist()
    [0.5, 0.5, 0.0]
    """
    scores = finite("scores", scores_KT, ndim=2)
    low, high = scores.min(0), scores.max(0)
    kept = high > low
    if not kept.any():
        raise ConfigError("all agents score the same on every task: nothing tells them apart")
    scaled = (scores[:, kept] - low[kept]) / (high - low)[kept]
    # sum p = 1 turns the value v into a constant of every constraint: (v - M^T) p <= 0
    return max_entropy(_value(scaled) - scaled.T)


def _value(payoffs: Array) -> float:
    from scipy.optimize import linprog  # slow to import, and rarely needed

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


def max_entropy(constraints_CK: Array) -> Array:
    """Return the most spread-out p >= 0 with sum p = 1 and constraints p <= 0.

    The largest value of every coordinate comes from a linear programme; those that are always 0
    are taken out, and the mean of the maximisers starts the search well inside the rest.

    >>> max_entropy(np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])).round(6).tolist()
    [0.333333, 0.333333, 0.333333]
    """
    scale = np.abs(constraints_CK).max() or 1.0
    constraints = np.asarray(constraints_CK, dtype=float) / scale
    corners = np.stack([_feasible(constraints, own) for own in np.eye(constraints.shape[1])])
    kept = corners.max(0) > ZERO
    p = np.zeros(constraints.shape[1])
    start = corners.mean(0)[kept]
    p[kept] = start if kept.sum() == 1 else _search(constraints[:, kept], start / start.sum())
    if (constraints @ p).max(initial=0.0) > 1e-6:
        raise CoevoError(f"no equilibrium found: a constraint is off by {(constraints @ p).max()}")
    return p / p.sum()


def _feasible(constraints: Array, value: Array) -> Array:
    """Return a vector that keeps the constraints, one with the largest value @ p."""
    from scipy.optimize import linprog

    found = linprog(
        -value,
        A_ub=constraints,
        b_ub=np.full(len(constraints), FEASIBLE),
        A_eq=np.ones((1, len(value))),
        b_eq=[1.0],
        bounds=(0, 1),
        method="highs",
    )
    if found.x is None:
        raise CoevoError(f"the constraints have no solution: {found.message}")
    return np.asarray(found.x)


def _search(constraints: Array, start: Array) -> Array:
    from scipy.optimize import minimize

    found = minimize(
        lambda p: float(p @ np.log(p + PENALTY)),
        start,
        jac=lambda p: np.log(p + PENALTY) + p / (p + PENALTY),
        bounds=[(0.0, 1.0)] * len(start),
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones((1, len(p)))},
            {"type": "ineq", "fun": lambda p: -constraints @ p, "jac": lambda p: -constraints},
        ],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    if not np.isfinite(found.x).all():
        raise CoevoError(f"the search for an equilibrium failed: {found.message}")
    return np.clip(found.x, 0.0, 1.0)
