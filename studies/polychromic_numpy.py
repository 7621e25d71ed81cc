"""Polychromic objective: credit for sets keeps two good arms where REINFORCE keeps one.

Hamid et al. 2025 (arXiv 2509.25424): a set S is worth f(S) = mean reward times share of different
arms, and all its members get the advantage f(S) - mean f. Four arms pay (1, 0.95, 0, 0); 8 sets of
4 plays per step, policy gradient from the uniform policy, 800 steps of size 0.2. REINFORCE has the
mean reward of the 32 plays as its baseline.
"""

from __future__ import annotations

import numpy as np
from over_seeds import sample, show, softmax

REWARD, SETS, MEMBERS, STEPS, LR = np.array([1.0, 0.95, 0.0, 0.0]), 8, 4, 800, 0.2


def learnt(rng: np.random.Generator, by_set: bool) -> np.ndarray:
    """Return the policy after all steps."""
    z = np.zeros(len(REWARD))
    for _ in range(STEPS):
        pi = softmax(z)
        arm = sample(rng, pi, SETS * MEMBERS).reshape(SETS, MEMBERS)
        worth = REWARD[arm]
        if by_set:
            different = np.array([len(set(row)) for row in arm.tolist()]) / MEMBERS
            worth = np.repeat((worth.mean(1) * different)[:, None], MEMBERS, 1)
        advantage = (worth - worth.mean()).reshape(-1, 1)
        z += LR * (advantage * (np.eye(len(REWARD))[arm.reshape(-1)] - pi)).mean(0)
    return softmax(z)


def figures(rng: np.random.Generator) -> dict[str, float]:
    """Return the rarer good arm and the success of both."""
    single, shared = learnt(rng, False), learnt(rng, True)
    return {
        "min(P1, P2), REINFORCE": float(single[:2].min()),
        "min(P1, P2), sets": float(shared[:2].min()),
        "success, REINFORCE": float(single[:2].sum()),
        "success, sets": float(shared[:2].sum()),
    }


if __name__ == "__main__":
    show(figures)
