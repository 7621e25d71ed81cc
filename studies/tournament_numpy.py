"""Places in tournaments: how well they agree with true quality, in rank correlation.

Zhang et al. 2026 (arXiv 2601.06487). 16 replies with normal quality. The points by which one is
ahead of another are the difference of their qualities with a normal error: of deviation `noise`
where both orders are asked (the comparison with the first reply, which seeds), and of sqrt(2) times
that where one is (all other comparisons). 300 groups a seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
from over_seeds import show

REPLIES, GROUPS = 16, 300
Ahead = Callable[[int, int, float], float]


def ranks(score: np.ndarray) -> np.ndarray:
    """Return ranks, the mean one for equal scores."""
    return np.array([(score < x).sum() + ((score == x).sum() - 1) / 2 for x in score])


def anchor(ahead: Ahead) -> np.ndarray:
    """Compare all with the first one."""
    return np.array([0.0, *(ahead(i, 0, 1.0) for i in range(1, REPLIES))])


def round_robin(ahead: Ahead) -> np.ndarray:
    """Compare all with all."""
    won = np.zeros(REPLIES)
    for one, other in itertools.combinations(range(REPLIES), 2):
        won[one if ahead(one, other, 2**0.5) > 0 else other] += 1
    return won


def single(ahead: Ahead) -> np.ndarray:
    """Seed by the first one, then knock out."""
    sums, met = np.zeros(REPLIES), np.zeros(REPLIES)

    def meet(one: int, other: int, scale: float) -> float:
        by = ahead(one, other, scale)
        sums[[one, other]] += by, -by
        met[[one, other]] += 1
        return by

    for i in range(1, REPLIES):
        meet(i, 0, 1.0)
    seeds, lasted, slots = np.argsort(-sums / met), np.zeros(REPLIES), [0]
    while len(slots) < REPLIES:
        slots = [seed for i in slots for seed in (i, 2 * len(slots) - 1 - i)]
    left = [int(seeds[slot]) for slot in slots]
    while len(left) > 1:
        pairs = zip(left[::2], left[1::2], strict=True)
        left = [one if meet(one, other, 2**0.5) >= 0 else other for one, other in pairs]
        lasted[left] += 1
    return lasted * 1000 + sums / met


def _ahead(
    quality: np.ndarray, noise: float, rng: np.random.Generator, one: int, other: int, scale: float
) -> float:
    return float(quality[one] - quality[other] + noise * scale * rng.normal())


def figures(rng: np.random.Generator) -> dict[str, float]:
    """Return the rank correlations of all brackets."""
    found = {}
    for bracket, noise in itertools.product((anchor, single, round_robin), (0.3, 1.0)):
        each = []
        for _ in range(GROUPS):
            quality = rng.normal(size=REPLIES)
            places = bracket(partial(_ahead, quality, noise, rng))
            each.append(np.corrcoef(ranks(places), ranks(quality))[0, 1])
        found[f"{bracket.__name__}, noise {noise}"] = float(np.mean(each))
    return found


if __name__ == "__main__":
    show(figures)
