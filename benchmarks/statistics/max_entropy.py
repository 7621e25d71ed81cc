"""The most spread-out probability vector that satisfies linear constraints."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, minimize

from coevo.benchmarks.statistics.arrays import Array
from coevo.envs.core.errors import CoevoError

FEASIBLE = 1e-9
"""Violation of a constraint that is taken for rounding."""
ZERO = 1e-7
"""Largest probability that a coordinate can have and still count as always 0."""
PENALTY = 1e-12
"""Added inside logarithms."""


def max_entropy(constraints_CK: Array) -> Array:
    """Maximise -sum p log p over p >= 0, sum p = 1, constraints p <= 0.

    The largest value of every coordinate comes from a linear programme; those that are always 0
    are taken out, and the mean of the maximisers starts the search well inside the rest.

    >>> max_entropy(np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])).round(6).tolist()
    [0.333333, 0.333333, 0.333333]
    """
    scale = np.abs(constraints_CK).max() or 1.0
    constraints = np.asarray(constraints_CK, dtype=float) / scale
    corners = np.stack([_corner(constraints, i) for i in range(constraints.shape[1])])
    kept = corners.max(0) > ZERO
    p = np.zeros(constraints.shape[1])
    start = corners.mean(0)[kept]
    p[kept] = start if kept.sum() == 1 else _search(constraints[:, kept], start / start.sum())
    if (constraints @ p).max(initial=0.0) > 1e-6:
        raise CoevoError(f"no equilibrium found: a constraint is off by {(constraints @ p).max()}")
    return p / p.sum()


def _corner(constraints: Array, coordinate: int) -> Array:
    """A feasible vector with the largest possible value of one coordinate."""
    size = constraints.shape[1]
    found = linprog(
        -np.eye(size)[coordinate],
        A_ub=constraints,
        b_ub=np.full(len(constraints), FEASIBLE),
        A_eq=np.ones((1, size)),
        b_eq=[1.0],
        bounds=(0, 1),
        method="highs",
    )
    if found.x is None:
        raise CoevoError(f"the constraints have no solution: {found.message}")
    return np.asarray(found.x)


def _search(constraints: Array, start: Array) -> Array:
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
