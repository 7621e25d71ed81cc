"""Clip-Cov and KL-Cov: holding back tokens of high covariance keeps entropy.

Cui et al. 2025, "The entropy mechanism" (arXiv 2505.22617): cov = (A - mean A)(log pi - mean log
pi) over the tokens of an update. KL-Cov adds |log pi - log pi_old| to the unclipped loss of the 5 %
with the greatest cov; Clip-Cov silences 5 % at random among those with 1 < cov < 5 and clips at 1;
PPO clips at 0.2. 32 contexts of 8 arms, two of which pay 1; 8 plays per context and update,
advantages over the group's deviation, 400 updates of 4 epochs of size 1.3 on the token mean.
"""

from __future__ import annotations

import numpy as np
from over_seeds import sample, show, softmax

CONTEXTS, ARMS, PAYING, PLAYS = 32, 8, 2, 8
UPDATES, EPOCHS, LR, SHARE = 400, 4, 1.3, 0.05
HELD = int(SHARE * CONTEXTS * PLAYS)


def weights(
    rng: np.random.Generator, way: str, a: np.ndarray, logp: np.ndarray, old: np.ndarray
) -> np.ndarray:
    """Return what every token's score is multiplied by."""
    ratio = np.exp(logp - old)
    cov = (a - a.mean()) * (logp - logp.mean())
    eps = 0.2 if way == "PPO" else 1.0
    clipped = ((a > 0) & (ratio > 1 + eps)) | ((a < 0) & (ratio < 1 - eps))
    if way == "KL-Cov":
        pull = np.zeros(a.size)
        top = np.argsort(cov, axis=None, kind="stable")[-HELD:]
        pull[top] = np.sign(logp - old).reshape(-1)[top]
        return a * ratio - pull.reshape(a.shape)
    taught = ~clipped
    if way == "Clip-Cov":
        open_to_it = np.flatnonzero(taught & (cov > 1) & (cov < 5))
        silent = rng.permutation(open_to_it)[:HELD]
        taught.reshape(-1)[silent] = False
    return a * ratio * taught


def learnt(rng: np.random.Generator, way: str, pays: np.ndarray) -> tuple[float, float]:
    """Return the mean entropy and the success at the end."""
    z, context = np.zeros((CONTEXTS, ARMS)), np.arange(CONTEXTS)[:, None]
    for _ in range(UPDATES):
        arm = sample(rng, softmax(z), PLAYS)
        reward, old = pays[context, arm], np.log(softmax(z))[context, arm]
        centred = reward - reward.mean(1, keepdims=True)
        a = centred / (reward.std(1, ddof=1, keepdims=True) + 1e-6)
        for _ in range(EPOCHS):
            pi = softmax(z)
            weight = weights(rng, way, a, np.log(pi)[context, arm], old)
            step = -pi * weight.sum(1, keepdims=True)
            np.add.at(step, (np.broadcast_to(context, arm.shape), arm), weight)
            z = z + LR * step / arm.size
    pi = softmax(z)
    return float(-(pi * np.log(pi)).sum(1).mean()), float((pi * pays).sum(1).mean())


def figures(rng: np.random.Generator) -> dict[str, float]:
    """Return entropy and success of the three losses on the same problem."""
    pays = (rng.random((CONTEXTS, ARMS)).argsort(1) < PAYING).astype(float)
    found = {way: learnt(rng, way, pays) for way in ("PPO", "KL-Cov", "Clip-Cov")}
    entropy = {f"entropy, {way}": pair[0] for way, pair in found.items()}
    return entropy | {f"success, {way}": pair[1] for way, pair in found.items()}


if __name__ == "__main__":
    show(figures)
