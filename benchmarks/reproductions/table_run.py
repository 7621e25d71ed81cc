"""A table trained by the shipped loop on any environment, and what its updates logged."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from coevo.trainers.algorithm import Algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import updates
from coevo.trainers.run import start
from coevo.trainers.run_folder import RunFolder

QUICKLY = {
    "critic.lr": 0.2,
    "optim.warmup": 0,
    "optim.epochs": 1,
    "optim.minibatches": 1,
}
"""Settings of PPO for a table: one plain step per update, a critic that follows at once."""


def outcomes(
    record: Algorithm, env: str, options: Mapping[str, Any], steps: int, seed: int
) -> list[dict[str, float]]:
    """Train a table, and return outcomes and returns (`return/SEAT`) of the episodes per update.

    Args:
        record: the algorithm.
        env: environment id.
        options: arguments of the environment; prompts are terse.
        steps: updates.
        seed: of the run.
    """
    given = TrainConfig(
        algorithm=record,
        env=env,
        env_options={"prompt_style": "terse", **options},
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
        return [_outcomes(done.metrics) for done in updates(start(given, folder))]


def at_end(
    courses: Sequence[Sequence[Mapping[str, float]]], name: str, last: int
) -> tuple[float, ...]:
    """Return the mean of a figure over the last updates of every course.

    >>> at_end([[{"hours": 1.0}, {"hours": 3.0}, {"hours": 5.0}]], "hours", last=2)
    (4.0,)
    """
    return tuple(fmean(update[name] for update in one[-last:]) for one in courses)


def _outcomes(metrics: Mapping[str, Any]) -> dict[str, float]:
    found = {n: v for n, v in metrics.items() if n.startswith(("outcome/", "return/"))}
    return {name.removeprefix("outcome/"): value for name, value in found.items()}
