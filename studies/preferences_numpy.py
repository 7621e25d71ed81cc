"""Preferences in a circle: self-play on win rates, steps of DNO, and fitted scores.

Swamy et al. 2024 (arXiv 2401.04056), Rosset et al. 2024 (arXiv 2404.03715). P(row preferred to
column): a0 over a1 over a2 over a0, a3 worse than all. SPO: groups of 8 replies, every two compared
by one draw, policy gradient of the win rates minus their mean, 4000 steps of 0.1. DNO: 100 exact
steps pi' ~ pi exp(r / 2), r the win rates against pi. Scores are fitted to P by Bradley and Terry;
200 exact policy-gradient steps of 4 on them. A worst case is how often a policy is preferred to the
arm that beats it most.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from over_seeds import sample, show, softmax

P = np.array(
    [[0.5, 0.9, 0.2, 0.8], [0.1, 0.5, 0.8, 0.8], [0.8, 0.2, 0.5, 0.8], [0.2, 0.2, 0.2, 0.5]]
)
GROUP, STEPS, STEP, ETA = 8, 4000, 0.1, 2.0


def worst(p: np.ndarray) -> float:
    """Return how often a policy is preferred to the arm that beats it most."""
    return float((p @ P).min())


def spo(rng: np.random.Generator) -> np.ndarray:
    """Return the policies after every step of self-play, [U, A]."""
    z, found = np.zeros(4), []
    for _ in range(STEPS):
        pi = softmax(z)
        arm = sample(rng, pi, GROUP)
        won = np.triu(rng.random((GROUP, GROUP)) < P[arm][:, arm], 1)
        rate = (won + np.tril(~won.T, -1)).sum(1) / (GROUP - 1)
        z = z + STEP * ((rate - rate.mean())[:, None] * (np.eye(4)[arm] - pi)).mean(0)
        found.append(softmax(z))
    return np.array(found)


def dno() -> np.ndarray:
    """Return the policies before and after every exact step, [1 + U, A]."""
    found = [np.full(4, 0.25)]
    for _ in range(100):
        found.append(softmax(np.log(found[-1]) + P @ found[-1] / ETA))
    return np.array(found)


def scored() -> np.ndarray:
    """Return the policy that is paid fitted scores."""
    score, z = np.zeros(4), np.zeros(4)
    for _ in range(20_000):
        score = score + 0.1 * (P - 1 / (1 + np.exp(score - score[:, None]))).sum(1)
    for _ in range(200):
        pi = softmax(z)
        z = z + 4.0 * pi * (score - pi @ score)
    return softmax(z)


def figures(rng: np.random.Generator) -> dict[str, float]:
    """Return worst cases, and the least gain of a step of DNO."""
    played, exact = spo(rng), dno()
    return {
        "SPO: worst case of the average policy": worst(played.mean(0)),
        "SPO: worst case of the last policy": worst(played[-1]),
        "SPO: average probability of the dominated arm": float(played.mean(0)[3]),
        "DNO: least P(policy over the one before)": min(
            float(now @ P @ last) for last, now in pairwise(exact)
        ),
        "DNO: worst case of the average policy": worst(exact[1:].mean(0)),
        "DNO: worst case of the last policy": worst(exact[-1]),
        "fitted scores: worst case of the last policy": worst(scored()),
    }


if __name__ == "__main__":
    show(figures)
