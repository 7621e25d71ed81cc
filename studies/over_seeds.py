"""Print figures as mean and deviation over seeds; the numpy experiments of this folder share it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import numpy as np

SEEDS = 10


def show(figures: Callable[[np.random.Generator], Mapping[str, float]], seeds: int = SEEDS) -> None:
    """Measure with the generators of seeds 0, 1, ... and write a line per figure."""
    found = [figures(np.random.default_rng(seed)) for seed in range(seeds)]
    for name in found[0]:
        values = [one[name] for one in found]
        deviation = f" ± {np.std(values, ddof=1):.4f}" if seeds > 1 else ""
        sys.stdout.write(f"{name}: {np.mean(values):.4f}{deviation}\n")


def softmax(z: np.ndarray) -> np.ndarray:
    """Return the probabilities of the last axis."""
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sample(rng: np.random.Generator, p: np.ndarray, size: int) -> np.ndarray:
    """Draw arms from every row of probabilities: [..., A] -> [..., size]."""
    drawn = rng.random((*p.shape[:-1], size))
    return (drawn[..., None] > p.cumsum(-1)[..., None, :-1]).sum(-1)
