"""What the loop measures and writes after an update, and what it asks of a run for that."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from coevo.agents.agent import Agent
from coevo.envs.core.episode import Episode
from coevo.trainers.progress import Limits, Progress
from coevo.trainers.run_folder import RunFolder

EvaluationHook = Callable[[Mapping[str, Agent]], Mapping[str, float]]
"""Measures the current policies: policy name -> agent in, metric name -> value out."""
Outcome = tuple[dict[str, Any], list[Episode]]
"""Metrics and fresh episodes of an update."""


class RunConfig(Limits, Protocol):
    """What the loop reads of a configuration; `TrainConfig` documents each."""

    @property
    def checkpoint_every(self) -> int: ...
    @property
    def probe_every(self) -> int: ...
    @property
    def probe_points(self) -> int: ...
    @property
    def episodes_logged(self) -> int: ...


class Resumable(Protocol):
    """A run that the loop can drive."""

    @property
    def config(self) -> RunConfig:
        """Limits, and how often what is done."""

    @property
    def folder(self) -> RunFolder:
        """Where everything is written."""

    progress: Progress
    """Where it stands; the loop counts updates and seconds."""
    moving: bool
    """Whether an update is between its first and its last change of weights."""

    def policies(self) -> Mapping[str, Agent]:
        """Return the policies as they are now."""

    def save(self) -> None:
        """Write a checkpoint."""


@dataclass(frozen=True)
class UpdateResult:
    """An update that was just finished and logged."""

    step: int
    metrics: Mapping[str, Any]
    episodes: Sequence[Episode]
    """The fresh ones."""
    logged: Sequence[Episode]
    """Those of them that were written to the folder."""
    done: float
    """Share of the run that is done."""


def log(
    run: Resumable,
    metrics: dict[str, Any],
    episodes: Sequence[Episode],
    hooks: Sequence[EvaluationHook],
    share_before: float,
) -> Sequence[Episode]:
    """Measure where it is due, and write metrics and some episodes.

    Where a run is interrupted decides nothing here, so that its metrics are those of one that ran
    through.
    """
    progress = run.progress
    last = progress.share(run.config) >= 1.0
    due = last or evaluation_due(run.config, progress, share_before)
    if due and hooks:
        policies = run.policies()
        for hook in hooks:
            metrics |= hook(policies)
    metrics |= totals(progress)
    logged = episodes[: run.config.episodes_logged] if due else ()
    run.folder.log(progress.step, metrics, logged)
    return logged


def evaluation_due(config: RunConfig, progress: Progress, share_before: float) -> bool:
    """Return whether the update that just ended is one after which a run is measured."""
    points = config.probe_points
    if not points:
        return progress.step % config.probe_every == 0
    return math.floor(progress.share(config) * points) > math.floor(share_before * points)


def totals(progress: Progress) -> dict[str, float]:
    """Return the metrics that count a run from its start."""
    return {
        "total_tokens": progress.tokens,
        "total_turns": progress.turns,
        "total_seconds": progress.seconds,
    }
