"""Cooper: a reward model that loves a style is hacked where it is frozen, not where it is refitted.

Hong et al. 2025 (arXiv 2508.05613). Answers are plain wrong, plain right, and wrong in a style. 16
questions have a softmax policy each, (0.6, 0.3, 0.1) at first; the reward is sigmoid(w . f) with
f = (right, style, 1) and w = (1, 2.5, -1) at first, one for all questions. An update draws 16
answers a question and takes a step of 0.3 along the policy gradient, rewards normalised in the
group. Then, unless it is frozen, the reward model takes a step along the gradient of
log sigmoid(w . f(right) - w . f(wrong)), averaged over the questions with a certified reply. A
verifier certifies a right reply four times in five. The wrong one is the right one rewritten into a
plain one, which fails three times in ten, or one of the policy's own that was not certified.
Figures are of the last 10 of 300 updates.
"""

from __future__ import annotations

import numpy as np
from over_seeds import sample, show, softmax

FEATURES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
QUESTIONS, GROUP, UPDATES, LAST = 16, 16, 300, 10
STEP, RECALL, FAILS = 0.3, 0.8, 0.3


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def end(rng: np.random.Generator, rate: float, own: bool) -> tuple[float, float]:
    """Return accuracy and mean reward at the end.

    Args:
        rng: draws.
        rate: step of the reward model; 0 freezes it.
        own: whether wrong replies are the policy's own.
    """
    logits = np.log(np.tile([0.6, 0.3, 0.1], (QUESTIONS, 1)))
    weights, ends = np.array([1.0, 2.5, -1.0]), []
    for update in range(UPDATES):
        odds = softmax(logits)
        drawn = sample(rng, odds, GROUP)
        paid = sigmoid(FEATURES @ weights)[drawn]
        if update >= UPDATES - LAST:
            ends.append(((drawn == 1).mean(), paid.mean()))
        worth = (paid - paid.mean(1, keepdims=True)) / (paid.std(1, ddof=1, keepdims=True) + 1e-6)
        logits = logits + STEP * (worth[..., None] * (np.eye(3)[drawn] - odds[:, None])).mean(1)
        gaps = [FEATURES[1] - FEATURES[wrong] for wrong in pairs(rng, drawn, own)]
        if gaps:
            gap = np.array(gaps)
            weights = weights + rate * (sigmoid(-gap @ weights)[:, None] * gap).mean(0)
    accuracy, reward = np.mean(ends, axis=0)
    return float(accuracy), float(reward)


def pairs(rng: np.random.Generator, drawn: np.ndarray, own: bool) -> list[int]:
    """Return the wrong reply of every question with a certified one."""
    found = []
    for replies in drawn:
        certified = (replies == 1) & (rng.random(GROUP) < RECALL)
        others = replies[~certified]
        if certified.any() and own and len(others):
            found.append(int(rng.choice(others)))
        elif certified.any() and not own:
            found.append(int(rng.random() < FAILS))
    return found


def figures(rng: np.random.Generator) -> dict[str, float]:
    """Return accuracy and reward of a frozen and of refitted reward models."""
    arms = {
        "frozen": (0.0, False),
        "rewritten, step 0.5": (0.5, False),
        "rewritten, step 0.05": (0.05, False),
        "own wrong replies, step 0.05": (0.05, True),
    }
    found = {}
    for name, (rate, own) in arms.items():
        found[f"{name}: accuracy"], found[f"{name}: reward"] = end(rng, rate, own)
    return found


if __name__ == "__main__":
    show(figures)
