"""Scores of many runs as arrays in which row r is the same seed for every algorithm."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coevo.benchmarks.statistics.arrays import Array
from coevo.envs.core.errors import DataError, unknown


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
    """Seed of each row."""
    tasks: tuple[str, ...]
    """Task of each column."""
    dropped: tuple[int, ...] = ()
    """Seeds left out for all algorithms because a run with them failed."""

    def of(self, algorithm: str) -> Array:
        """Return the scores [runs, tasks] of one algorithm."""
        if algorithm not in self.scores:
            raise unknown("algorithm", algorithm, self.scores)
        return self.scores[algorithm]


def score_table(scores: Iterable[Score], *, drop_incomplete: bool = False) -> ScoreTable:
    """Return scores lined up by seed.

    A seed with a missing or failed run is an error. With `drop_incomplete` it leaves the table
    for all algorithms, never for one: the rest stays paired and balanced. That is fair only where
    the failure has nothing to do with the score, so the table must say what was dropped.

    >>> table = score_table([Score("a", "t", 0, 0.5), Score("b", "t", 0, 0.7)])
    >>> table.of("b").tolist(), table.seeds
    ([[0.7]], (0,))
    """
    given: dict[tuple[str, str, int], float] = {}
    for run in scores:
        key = (run.algorithm, run.task, run.seed)
        if key in given:
            raise DataError(f"two scores for {_named(key)}")
        given[key] = run.score
    algorithms = list(dict.fromkeys(algorithm for algorithm, _, _ in given))
    tasks = list(dict.fromkeys(task for _, task, _ in given))
    seeds = sorted({seed for _, _, seed in given})
    absent = [
        (a, t, s)
        for a in algorithms
        for t in tasks
        for s in seeds
        if not math.isfinite(given.get((a, t, s), math.nan))
    ]
    if absent and not drop_incomplete:
        raise DataError(
            f"{len(absent)} of {len(algorithms) * len(tasks) * len(seeds)} runs have no score, "
            f"first {_named(absent[0])}; run them, or leave their seeds out for everybody"
        )
    dropped = sorted({s for *_, s in absent})
    kept = [s for s in seeds if s not in dropped]
    if not kept:
        raise DataError("no seed has a score for every algorithm and task")
    found = {a: np.array([[given[a, t, s] for t in tasks] for s in kept]) for a in algorithms}
    return ScoreTable(found, tuple(kept), tuple(tasks), tuple(dropped))


def _named(key: tuple[str, str, int]) -> str:
    return f"{key[0]} on {key[1]}, seed {key[2]}"
