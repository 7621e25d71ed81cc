"""Truncated importance sampling where sampler and trainer differ: cosine to the true gradient.

Yao et al. 2025, "Your Efficient RL Framework Secretly Brings You Off-Policy RL Training"
(https://fengyao.notion.site/off-policy-rl): a sample of mu is weighted by min(pi / mu, C).
Eight arms, trainer logits ~ N(0, 1), sampler logits = trainer's + N(0, 0.5), rewards ~ N(0, 1),
200 draws per seed. With A = r - mu.r the expected gradient on logit a is
mu_a w_a A_a - pi_a sum_b mu_b w_b A_b; the true one is pi_a (r_a - pi.r).
"""

from __future__ import annotations

import numpy as np
from over_seeds import show, softmax

DRAWS, ARMS, NOISE, CAP = 200, 8, 0.5, 2.0


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    """Average the cosine over the draws."""
    return float(((x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)).mean())


def figures(rng: np.random.Generator) -> dict[str, float]:
    """Return the cosine of the plain and of the corrected gradient."""
    z, reward = rng.normal(size=(2, DRAWS, ARMS))
    pi, mu = softmax(z), softmax(z + NOISE * rng.normal(size=z.shape))
    true = pi * (reward - (pi * reward).sum(1, keepdims=True))
    advantage = reward - (mu * reward).sum(1, keepdims=True)

    def gradient(weight: np.ndarray) -> np.ndarray:
        share = mu * weight * advantage
        return share - pi * share.sum(1, keepdims=True)

    plain, cut = (
        cosine(gradient(np.ones_like(mu)), true),
        cosine(gradient((pi / mu).clip(max=CAP)), true),
    )
    return {"uncorrected": plain, "min(pi / mu, 2)": cut, "gain": cut - plain}


if __name__ == "__main__":
    show(figures)
