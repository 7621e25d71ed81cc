"""The training loop: update, measure, log, save. No algorithm is named here.

    run = start(config, folder)
    for done in updates(run):
        print(done.step, done.metrics["return/player_0"])

Between two updates the caller may look, change the run, or stop. Limits, evaluation hooks,
logging, checkpoints and Ctrl-C are handled here, for every kind of run.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

from coevo.agents.agent import Agent
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import CoevoError, DataError, UndefinedError
from coevo.trainers import checkpoint
from coevo.trainers.checkpoint import Limits, Progress
from coevo.trainers.config import TrainConfig
from coevo.trainers.run import Run, start
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.update import update

EvaluationHook = Callable[[Mapping[str, Agent]], Mapping[str, float]]
"""Measures the current policies: policy name -> agent in, metric name -> value out."""
Outcome = tuple[dict[str, Any], list[Episode]]
"""Metrics and fresh episodes of an update."""


class RunConfig(Limits, Protocol):
    """What the loop reads of a configuration."""

    @property
    def checkpoint_every(self) -> int:
        """Updates between checkpoints."""

    @property
    def probe_every(self) -> int:
        """Updates between evaluations."""

    @property
    def probe_points(self) -> int:
        """Evaluations spread evenly over the limits; 0 goes by `probe_every`."""

    @property
    def episodes_logged(self) -> int:
        """Episodes written at every evaluation."""


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
class Update:
    """An update that was just finished and logged."""

    step: int
    """Updates so far."""
    metrics: Mapping[str, Any]
    episodes: Sequence[Episode]
    """The fresh ones."""
    logged: Sequence[Episode]
    """Those of them that were written to the folder."""
    done: float
    """Share of the run that is done."""


def train(config: TrainConfig, folder: RunFolder, hooks: Sequence[EvaluationHook] = ()) -> Run:
    """Train until a limit of the configuration is reached, or continue a run that was stopped.

    Args:
        config: the run; a folder that already holds checkpoints of it is continued.
        folder: where everything is written.
        hooks: measured now and then, and after the last update.

    Raises:
        KeyboardInterrupt: after the current update was finished and saved.
    """
    run = start(config, folder)
    for _ in updates(run, hooks):
        pass
    return run


def updates(run: Run, hooks: Sequence[EvaluationHook] = ()) -> Iterator[Update]:
    """Do update after update until a limit is reached; see `drive`."""
    return drive(run, lambda: update(run), hooks)


def drive(
    run: Resumable, update: Callable[[], Outcome], hooks: Sequence[EvaluationHook] = ()
) -> Iterator[Update]:
    """Repeat a kind of update until a limit is reached, and yield after each.

    A caller that stops early saves by itself, with `run.save()`.

    Raises:
        DataError: another process writes to the folder, or has done so since the run was started.
        KeyboardInterrupt: after the current update was finished and saved; asked twice, at once.
    """
    with run.folder.lock(), Interrupt() as interrupt:
        saved = _taken_up(run)
        while run.progress.share(run.config) < 1.0 and not interrupt.asked:
            began, share = time.monotonic(), run.progress.share(run.config)
            try:
                metrics, episodes = update()
            except UndefinedError as error:
                raise UndefinedError(
                    f"update {run.progress.step + 1}: {error}. "
                    f"{_last_good(saved, run.folder)}; a lower learning rate may help"
                ) from error
            except (CoevoError, KeyboardInterrupt):
                if saved < run.progress.step and not run.moving:
                    run.save()  # no weight has moved since the last update
                raise
            run.progress = run.progress.plus(step=1, seconds=time.monotonic() - began)
            logged = _log(run, metrics, episodes, hooks, share, interrupt.asked)
            if run.progress.step % run.config.checkpoint_every == 0:
                run.save()
                saved = run.progress.step
            done = run.progress.share(run.config)
            yield Update(run.progress.step, metrics, episodes, logged, done)
        if saved < run.progress.step:
            run.save()
        if interrupt.asked:
            raise KeyboardInterrupt


def _last_good(saved: int, folder: RunFolder) -> str:
    """Say what is left of a run whose numbers are none any more."""
    if not saved:
        return "There is no checkpoint before it"
    return f"The checkpoint of update {saved} in {folder.checkpoints} is as it was"


def _taken_up(run: Resumable) -> int:
    """Drop what was logged after the newest checkpoint, and return the step of that."""
    newest = checkpoint.latest_step(run.folder.checkpoints)
    if newest > run.progress.step:
        raise DataError(
            f"{run.folder.path} has gone on to update {newest} since the run was started from "
            f"update {run.progress.step}; start it again"
        )
    run.folder.truncate(run.progress.step)
    return newest


def _log(
    run: Resumable,
    metrics: dict[str, Any],
    episodes: Sequence[Episode],
    hooks: Sequence[EvaluationHook],
    share_before: float,
    interrupted: bool,
) -> Sequence[Episode]:
    """Measure where it is due, and write metrics and some episodes."""
    progress = run.progress
    last = progress.share(run.config) >= 1.0 or interrupted
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


STOPPING = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]
"""Signals that ask a run to stop: Ctrl-C, a scheduler, a terminal that is closed."""


class Interrupt:
    """Turns the first signal to stop into a request to stop after the current update."""

    asked = False

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in STOPPING}
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *error: object) -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._before.items():
                signal.signal(number, handler)
