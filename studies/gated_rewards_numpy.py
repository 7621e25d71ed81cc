"""Gated reward accumulation: step rewards count only where the outcome reaches its threshold.

Sun et al. 2025, "Gated Rewards" (arXiv 2508.10548): R = R_high + 1[R_high >= delta] sum of the step
rewards. Five turns; a turn stalls for 0.5 or submits, which ends the episode and pays 1 with
probability 0.3, else 0.2; delta = 0.2. A logit pair per turn, 32 episodes per update, advantage
R - mean R, policy gradient (a mean over episodes of the sum over turns), 600 updates of size 0.5.
Figure: probability of a submission within five turns.
"""

from __future__ import annotations

import numpy as np
from over_seeds import sample, show, softmax

TURNS, EPISODES, UPDATES, LR = 5, 32, 600, 0.5
DENSE, HIGH, LOW, ODDS = 0.5, 1.0, 0.2, 0.3


def completion(rng: np.random.Generator, gated: bool) -> float:
    """Learn, and return the probability of submitting."""
    z = np.zeros((TURNS, 2))
    for _ in range(UPDATES):
        pi = softmax(z)
        submit = sample(rng, pi, EPISODES).T.astype(bool)
        played = np.cumsum(submit, 1) - submit == 0
        done = submit.any(1)
        high = np.where(done, np.where(rng.random(EPISODES) < ODDS, HIGH, LOW), 0.0)
        dense = DENSE * (played & ~submit).sum(1)
        reward = high + np.where(gated & (high < LOW), 0.0, dense)
        advantage = reward - reward.mean()
        chosen = np.stack([~submit, submit], -1)
        score = (chosen - pi) * played[..., None]
        z += LR * (advantage[:, None, None] * score).mean(0)
    return 1 - float(softmax(z)[:, 0].prod())


def figures(rng: np.random.Generator) -> dict[str, float]:
    """Return completion without and with the gate."""
    return {"summed": completion(rng, False), "gated": completion(rng, True)}


if __name__ == "__main__":
    show(figures)
