"""A run of `DigitNet` by the shipped loop, and what its updates logged."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coevo.benchmarks.reproductions.digits import ID, DigitNet, maker
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import updates
from coevo.trainers.run import start
from coevo.trainers.run_folder import RunFolder

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
    given = TrainConfig(
        algorithm=record,
        env=ID,
        env_options={"prompt_style": "terse", "unlabelled": unlabelled},
        model="table",
        seed=seed,
        steps=steps,
        checkpoint_every=steps + 1,
        probe_every=steps + 1,
        episodes_logged=0,
        device="cpu",
    )
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder(Path(name) / "run")
        folder.create(given)
        run = start(given, folder, maker(seed))
        log = [done.metrics for done in updates(run)]
    return Trained(run.learners["policy"].model, log)  # type: ignore[arg-type]  # the maker's
