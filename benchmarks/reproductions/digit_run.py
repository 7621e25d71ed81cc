"""A run of `DigitNet` by the shipped loop, and what its updates logged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coevo.benchmarks.reproductions.digits import ID, DigitNet, maker
from coevo.benchmarks.reproductions.table_run import started
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.loop import updates

SETTINGS = {"optim.lr": 1e-3, "optim.warmup": 0, "optim.beta2": 0.999}


@dataclass(frozen=True)
class Trained:
    """What a run made."""

    net: DigitNet
    log: list[Mapping[str, Any]]
    """Metrics of every update."""


def trained(record: Algorithm, unlabelled: float, steps: int, seed: int) -> Trained:
    """Train a network by an algorithm.

    Args:
        record: the algorithm.
        unlabelled: share of the tasks that nobody verifies.
        steps: updates.
        seed: of the start and of the run.
    """
    options = {"unlabelled": unlabelled}
    with started(record, ID, options, maker(seed), seed=seed, steps=steps) as run:
        log = [done.metrics for done in updates(run)]
        return Trained(run.learners["policy"].model, log)  # type: ignore[arg-type]  # the maker's
