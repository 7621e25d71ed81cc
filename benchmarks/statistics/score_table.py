"""Scores of many runs as arrays in which row r is the same seed for every algorithm."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coevo.benchmarks.statistics.arrays import Array
from coevo.envs.core.errors import DataError


class Score(NamedTuple):
    """One run: an algorithm on a task from a seed."""

    algorithm: str
    task: str
    seed: int
    score: float
    """NaN where the run failed."""


@dataclass(frozen=True)
class ScoreTable:
    """Complete scores: every algorithm has every task from every seed."""

    scores: dict[str, Array]
    """Algorithm -> X[runs, tasks]."""
    seeds: tuple[int, ...]
    tasks: tuple[str, ...]
    dropped: tuple[int, ...] = ()
    """Seeds left out for all algorithms because a run with them failed."""


def score_table(scores: Iterable[Score]) -> ScoreTable | None:
    """Return scores lined up by seed; None where no seed has a score for everything.

    A seed with a missing or failed run leaves the table for all algorithms, never for one: the rest
    stays paired and balanced. That is fair only where the failure has nothing to do with the score,
    so the table says what was dropped.

    >>> table = score_table([Score("a", "t", 0, 0.5), Score("b", "t", 0, 0.7)])
    >>> table.scores["b"].tolist(), table.seeds
    ([[0.7]], (0,))

    Raises:
        DataError: a run is there twice.
    """
    given: dict[tuple[str, str, int], float] = {}
    for algorithm, task, seed, score in scores:
        if (algorithm, task, seed) in given:
            raise DataError(f"two scores for {algorithm} on {task}, seed {seed}")
        given[algorithm, task, seed] = score
    algorithms = list(dict.fromkeys(algorithm for algorithm, _, _ in given))
    tasks = list(dict.fromkeys(task for _, task, _ in given))
    seeds = sorted({seed for *_, seed in given})
    kept = [
        seed
        for seed in seeds
        if all(math.isfinite(given.get((a, t, seed), math.nan)) for a in algorithms for t in tasks)
    ]
    if not kept:
        return None
    found = {a: np.array([[given[a, t, s] for t in tasks] for s in kept]) for a in algorithms}
    dropped = tuple(seed for seed in seeds if seed not in kept)
    return ScoreTable(found, tuple(kept), tuple(tasks), dropped)
