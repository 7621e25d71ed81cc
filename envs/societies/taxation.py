"""Taxes, labour and the planner's objectives in an economy of one step, with the flat-tax optimum.

A worker of skill s who works L hours earns z = s L and has utility coin - c L^d. Taxes fall on
brackets of z at marginal rates, and revenue is shared out equally: the one-step economy of the AI
Economist (Zheng et al. 2022; salesforce/ai-economist). With a flat rate t the utility is
quasi-linear but for the worker's own share of its tax, which competitive workers ignore, as here
the optima do: L* = ((1 - t) s / (c d))^e with e = 1 / (d - 1), so that incomes are proportional to
s^(1 + e).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def tax_due(income: ArrayLike, brackets: Sequence[float], rates: Sequence[float]) -> Array:
    """Return the tax on incomes.

    Args:
        income: z, of any shape.
        brackets: lower ends, rising from 0.
        rates: marginal rate in each bracket.

    >>> tax_due([50.0, 150.0], [0.0, 100.0], [0.1, 0.5]).tolist()
    [5.0, 35.0]
    """
    z = np.asarray(income, dtype=float)[..., None]
    upper = np.array([*brackets[1:], np.inf])
    inside = np.clip(np.minimum(z, upper) - np.array(brackets), 0.0, None)
    return np.asarray((inside * np.array(rates)).sum(axis=-1))


def coins(income: ArrayLike, brackets: Sequence[float], rates: Sequence[float]) -> Array:
    """Return what everybody has after taxes and an equal share of the revenue."""
    z = np.asarray(income, dtype=float)
    due = tax_due(z, brackets, rates)
    return np.asarray(z - due + due.sum() / len(z))


def evenness(coin: ArrayLike) -> float:
    """Return 1 - Gini N / (N - 1): 1 where all have the same, 0 where one has everything.

    Where nobody has anything all have the same.

    >>> evenness([2.0, 2.0]), evenness([4.0, 0.0]), evenness([0.0, 0.0])
    (1.0, 0.0, 1.0)
    """
    x = np.asarray(coin, dtype=float)
    if x.sum() <= 0:
        return 1.0
    gini = np.abs(x[:, None] - x).sum() / (2 * len(x) * x.sum())
    return float(1 - gini * len(x) / (len(x) - 1))


def best_labour(skill: ArrayLike, rate: float, cost: float, power: float) -> Array:
    """Return the hours that a worker wants under a flat rate: ((1 - t) s / (c d))^(1 / (d - 1)).

    >>> best_labour([1.0, 4.0], 0.5, 1.0, 2.0).tolist()
    [0.25, 1.0]
    """
    s = np.asarray(skill, dtype=float)
    return np.asarray(((1 - rate) * s / (cost * power)) ** (1 / (power - 1)))


def even_output_optimum(skills: Sequence[float], power: float) -> float:
    """Return the flat rate that is best for evenness x output: max(0, 1 - e / (g (1 + e))).

    g is the Gini index of incomes times N / (N - 1): with x = 1 - t the planner maximises
    (1 - x g) x^e.

    >>> round(even_output_optimum([1, 1.5, 2, 4], 2.0), 3)
    0.254
    """
    e = 1 / (power - 1)
    g = 1 - evenness(np.asarray(skills, dtype=float) ** (1 + e))
    return max(0.0, 1 - e / (g * (1 + e))) if g > 0 else 0.0


def welfare_optimum(skills: Sequence[float], weights: Sequence[float], power: float) -> float:
    """Return the flat rate that is best for sum_i w_i u_i: (1 - G) / (1 - G + e), at least 0.

    G = sum(w Y) / (mean(Y) sum(w)) over incomes Y (Saez 2001 for fixed weights).

    >>> round(welfare_optimum([1, 1.5, 2, 4], [1, 1 / 1.5, 1 / 2, 1 / 4], 2.0), 3)
    0.283
    """
    e = 1 / (power - 1)
    y = np.asarray(skills, dtype=float) ** (1 + e)
    w = np.asarray(weights, dtype=float)
    rest = 1 - float((w * y).sum() / (y.mean() * w.sum()))
    return max(0.0, rest / (rest + e)) if rest + e > 0 else 0.0
