"""Advantage alignment where situations share features, as those of a language model do.

The dilemma of `alignment_numpy` in four rounds. The logits of a situation c are a u + b v_c with
a^2 + b^2 = 1, so that all situations have a^2 of every logit's feature in common; one Adam step
size, from the norm of the whole gradient, stands for weights that mix both. 256 plays per update,
rate 0.4, moments 0.5 and 0.9, 40 and 120 updates; a^2 and the entropy bonus vary.
"""

from __future__ import annotations

import alignment_numpy as table
import numpy as np
from over_seeds import show, softmax

ROUNDS, RATE, FIRST, SECOND = 4, 0.4, 0.5, 0.9
LOOKS = (40, 120)


def learnt(
    rng: np.random.Generator, way: str, shared: float, bonus: float
) -> dict[int, np.ndarray]:
    """Return the probabilities of cooperating and defecting in every context, by updates."""
    game = table.Game(False, gamma=0.9, beta=0.5, over=5.0, bonus=bonus, updates=max(LOOKS))
    weights = np.zeros((1 + game.shape[1], game.shape[2]))
    scale = np.sqrt([shared, 1 - shared])
    past: list[np.ndarray] = []
    found, first, second = {}, np.zeros_like(weights), 0.0
    for step in range(1, game.updates + 1):
        p = softmax(scale[0] * weights[:1] + scale[1] * weights[1:])
        seats, own = table.seated(rng, p, past, step)
        seen, arm, paid = table.played(rng, game, seats)
        a, at, move = table.credit(paid, game, way)[own], seen[own], arm[own]
        score = a[..., None] * (np.eye(game.shape[2])[move] - p[at])
        entropy = -(p * np.log(p)).sum(1, keepdims=True)
        slope = np.zeros_like(p)
        np.add.at(slope, at, score - (bonus * p * (np.log(p) + entropy))[at])
        gradient = np.vstack([scale[0] * slope.sum(0), scale[1] * slope]) / at.size
        first = FIRST * first + (1 - FIRST) * gradient
        second = SECOND * second + (1 - SECOND) * float((gradient**2).sum())
        size = np.sqrt(second / (1 - SECOND**step)) + 1e-8
        weights = weights + RATE * first / (1 - FIRST**step) / size
        if step % table.EVERY == 0:
            past = [*past, p][-table.KEPT :]
        if step in LOOKS:
            found[step] = softmax(scale[0] * weights[:1] + scale[1] * weights[1:])
    return found


def figures(rng: np.random.Generator) -> dict[str, float]:
    """Return payoffs and P(C) of both ways."""
    table.ROUNDS = ROUNDS
    found, game = {}, table.Game(False, gamma=0.9, beta=0.5, over=5.0, bonus=0.0, updates=0)
    for shared in (0.0, 0.97):
        for bonus in (0.01, 0.2):
            for way in ("naive", "alignment"):
                for step, p in learnt(rng, way, shared, bonus).items():
                    name = f"shared {shared}, bonus {bonus}, {way}, {step} updates"
                    found[f"{name}: payoff"] = float(table.payoffs(game, p, p)[0])
                    found[f"{name}: P(C | CC)"] = float(p[1, 0])
                    found[f"{name}: P(C | CD)"] = float(p[2, 0])
    return found


if __name__ == "__main__":
    show(figures, seeds=5)
