"""BNPO: mean square of the advantage under three normalisations, and the best Beta density.

Xiao et al. 2025 (arXiv 2506.02864). Success rates are p ~ Beta(a, b) and an advantage is
(R - p) / f(p), so that its mean square is E[p (1 - p) / f(p)^2]. Exact: for f = 1 (REINFORCE) it is
B(a + 1, b + 1) / B(a, b); for f = Beta(3/2, 3/2) (GRPO) it is (pi / 8)^2, whatever a and b; for
f = Beta(alpha, beta) it is B(a + 3 - 2 alpha, b + 3 - 2 beta) B(alpha, beta)^2 / B(a, b), which the
paper's alpha = 1 + a / 3, beta = 1 + b / 3 makes smallest. The grid has step 0.0125.
"""

from __future__ import annotations

import sys
from math import exp, lgamma, pi

import numpy as np

SHAPES = ((2.4375, 4.0625), (1.0, 5.0), (4.0, 12.0))


def log_beta(x: float, y: float) -> float:
    """Return the logarithm of the Beta function."""
    return lgamma(x) + lgamma(y) - lgamma(x + y)


def square(a: float, b: float, alpha: float, beta: float) -> float:
    """Return the mean square for f = Beta(alpha, beta)."""
    first, second = a + 3 - 2 * alpha, b + 3 - 2 * beta
    if first <= 0 or second <= 0:
        return float("inf")
    return exp(log_beta(first, second) + 2 * log_beta(alpha, beta) - log_beta(a, b))


if __name__ == "__main__":
    say = sys.stdout.write
    for a, b in SHAPES:
        values = square(a, b, 1, 1), (pi / 8) ** 2, square(a, b, 1 + a / 3, 1 + b / 3)
        say(f"p ~ Beta({a:g}, {b:g}): " + " ".join(f"{v:.4f}" for v in values) + "\n")
    a, b = SHAPES[0]
    grid = 1 + 0.0125 * np.arange(200)
    best = min((square(a, b, alpha, beta), alpha, beta) for alpha in grid for beta in grid)
    say(f"grid minimum for Beta({a:g}, {b:g}): {best[1]:.4f} {best[2]:.4f}\n")
    say(f"1 + a / 3, 1 + b / 3: {1 + a / 3:.4f} {1 + b / 3:.4f}\n")
