"""MAP-Elites: a grid of hand positions finds more good postures of an arm than truncation does."""

from collections.abc import Callable

import numpy as np
import torch

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.trainers.archive.archive import Archive
from coevo.trainers.archive.breeding import children, keep
from coevo.trainers.archive.genome import grown
from coevo.trainers.archive.selectors import Grid, Selecting, Truncation, even

JOINTS, MEMBERS, GENERATIONS, SIGMA = 8, 100, 200, 0.05
GRID = Grid(edges=(even(-1, 1, 20), even(-1, 1, 20)))


def posture(angle_J: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Return how evenly an arm bends, 1 - 4 variance of its angles in turns, and its hand.

    >>> posture(np.zeros(8))
    (1.0, (1.0, 0.0))
    """
    heading_J = 2 * np.pi * np.cumsum(angle_J)
    x, y = np.cos(heading_J).mean(), np.sin(heading_J).mean()
    return float(1 - 4 * angle_J.var()), (float(x), float(y))


def search(by: Selecting) -> Callable[[int], dict[str, float]]:
    """Return what evolves postures, and counts the cells of all that were ever tried."""

    def measure(seed: int) -> dict[str, float]:
        archive, rng = Archive(), np.random.default_rng([seed, 29])
        angles: dict[str, torch.Tensor] = {"": torch.zeros(JOINTS)}
        best: dict[tuple[int, ...], float] = {}
        for step in range(GENERATIONS):
            born = children(archive, MEMBERS, rng, step=step, sigma=SIGMA, first=0.25)
            found = []
            for child in born:
                (parent,) = child.parents or ("",)
                angle_J = grown(angles[parent], child.payload["seeds"][-1:]).clamp(-0.5, 0.5)
                child.weight, child.descriptor = posture(angle_J.numpy())
                cell = GRID.cell(child.descriptor)
                best[cell] = max(best.get(cell, -np.inf), child.weight)
                found.append(angle_J)
            keep(archive, born, by, step=step)
            angles |= {child.id: x for child, x in zip(born, found, strict=True) if child.id}
        return {"cells": float(len(best)), "score": sum(best.values())}

    return measure


CLAIM = Claim(
    property="""A grid over behaviours finds good solutions in more of its cells than truncation
        by fitness does with the same number of evaluations.""",
    source="""Mouret and Clune 2015, MAP-Elites, arXiv 1504.04909 (arm repertoires); references are
        of a numpy sketch of an arm with eight joints: 331 cells and a score of 328, truncation 272
        and 268""",
    minutes=2.0,
    on="formula",
    setting="""An arm of eight joints of length 1/8. The genome has eight angles from -1/2 to 1/2
        turn, fitness is 1 - 4 variance, the descriptor is where the hand is, on a grid of 20 by 20.
        100 children and 200 generations, Gaussian mutation with a deviation of .05 turns. The
        selector, the breeding and the archive are those of `map_elites`; the control keeps the 100
        best in the place of the grid. No episode is played.""",
    measured="""Cells in which anything was ever tried, and the sum of the best fitness of each
        (score): what truncation has seen counts for it even where it was not kept.""",
    chosen="""What the references leave open: the deviation of the first generation (.25), and that
        angles are cut at half a turn. The bound on the difference is the sketch's.""",
    arms={"grid": search(GRID), "truncation": search(Truncation(keep=100))},
    expect=(
        Expect("MAP-Elites: cells", "grid.cells", 331.0),
        Expect("MAP-Elites: score", "grid.score", 328.0),
        Expect("truncation: cells", "truncation.cells", 272.0),
        Expect("truncation: score", "truncation.score", 268.0),
        Expect("difference of the scores", "grid.score - truncation.score", 60.0, low=30.0),
    ),
)
