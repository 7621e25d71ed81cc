"""Learning from a fixed other policy: where the members of the REC family end.

Yao et al. 2025, "Group-Relative REINFORCE is secretly an off-policy algorithm" (arXiv 2509.24203).
Three arms pay r = (0, 0.8, 1) and are played by b = (0.3, 0.6, 0.1), where learning starts;
A = r - b.r. Exact expected gradients, sum_a b_a w_a (1[a] - pi), 20 000 steps of size 0.05, with
w = A for REINFORCE, A pi / b with importance weights, A exp(A / 0.1) for RED-Weight, A where the
ratio has not left [0.8, 1.2] on the side that A pushes to for REC-OneSide-NoIS,
A - tau log(pi / b) for OPMD (the square weighted by tau / 2) and A + 0.1 for AsymRE.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from over_seeds import softmax

BEHAVIOUR, REWARD = np.array([0.3, 0.6, 0.1]), np.array([0.0, 0.8, 1.0])
A = REWARD - BEHAVIOUR @ REWARD
STEPS, LR = 20_000, 0.05


def one_side(ratio: np.ndarray) -> np.ndarray:
    """Return A where the gate of REC-OneSide is open."""
    return A * ~(((A > 0) & (ratio > 1.2)) | ((A < 0) & (ratio < 0.8)))


WEIGHTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "REINFORCE": lambda ratio: A,
    "importance weights": lambda ratio: A * ratio,
    "RED-Weight T=0.1": lambda ratio: A * np.exp(A / 0.1),
    "REC-OneSide": one_side,
    "OPMD tau=1": lambda ratio: A - np.log(ratio),
    "AsymRE beta=0.1": lambda ratio: A + 0.1,
}


def learnt(weight: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the policy after all steps."""
    z = np.log(BEHAVIOUR)
    for _ in range(STEPS):
        pi = softmax(z)
        share = BEHAVIOUR * weight(pi / BEHAVIOUR)
        z = z + LR * (share - pi * share.sum())
    return softmax(z)


if __name__ == "__main__":
    for name, weight in WEIGHTS.items():
        sys.stdout.write(f"{name}: " + " ".join(f"{p:.4f}" for p in learnt(weight)) + "\n")
    theory = BEHAVIOUR * np.exp(REWARD)
    sys.stdout.write("b exp(r): " + " ".join(f"{p:.4f}" for p in theory / theory.sum()) + "\n")
