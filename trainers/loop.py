"""The training loop: update after update, each a cycle of steps. No algorithm or option is named.

    run = start(config, folder)
    for done in updates(run):
        print(done.step, done.metrics["return/player_0"])

Between two updates the caller may look, change the run, or stop. Limits, evaluation hooks,
logging, checkpoints and Ctrl-C are handled here, for every kind of run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from coevo.agents.policy import rest
from coevo.envs.core.errors import CoevoError, DataError, UndefinedError
from coevo.trainers import checkpoint, ranks
from coevo.trainers.config import TrainConfig
from coevo.trainers.cycle import Fork, UpdateContext
from coevo.trainers.interrupt import Interrupt
from coevo.trainers.measuring import EvaluationHook, Outcome, Resumable, UpdateResult, log
from coevo.trainers.progress import Progress
from coevo.trainers.run import Run, start
from coevo.trainers.run_folder import RunFolder

__all__ = ["EvaluationHook", "UpdateResult", "drive", "start", "train", "update", "updates"]


def train(config: TrainConfig, folder: RunFolder, hooks: Sequence[EvaluationHook] = ()) -> Run:
    """Train until a limit of the configuration is reached, or continue a run that was stopped.

    A folder that holds checkpoints of the run is continued. Hooks measure the policies now and
    then, and after the last update.

    Raises:
        KeyboardInterrupt: after the current update was finished and saved.
    """
    run = start(config, folder)
    finish(run, hooks)
    return run


def finish(run: Run, hooks: Sequence[EvaluationHook] = ()) -> None:
    """Do all updates until a limit is reached."""
    for _ in updates(run, hooks):
        pass


def updates(run: Run, hooks: Sequence[EvaluationHook] = ()) -> Iterator[UpdateResult]:
    """Do update after update until a limit is reached; see `drive`."""
    return drive(run, lambda: update(run), hooks)


def update(run: Run) -> Outcome:
    """Take the steps of the cycle once; return metrics and fresh episodes."""
    began, ctx = time.monotonic(), context_of(run)
    for step in ctx.cycle:
        run.before_step(step, ctx)
        run.moving |= step.moves
        step(ctx)
        rest(run.population.agents.values())  # the next step may compute where engines lie
    run.progress = ctx.progress
    run.after_update()
    seconds, found = time.monotonic() - began, ctx.collected
    tokens, fresh = (0, []) if found is None else (found.tokens, found.episodes[: found.fresh])
    speed = {"tokens": tokens, "tokens_per_second": tokens / seconds, "seconds": seconds}
    return ctx.metrics | speed, fresh


def context_of(run: Run) -> UpdateContext:
    """Return the context of the next update of a run."""
    algorithm = run.scheduled()
    return UpdateContext(
        step=run.progress.step,
        seed=run.config.seed,
        algorithm=algorithm,
        limits=run.config,
        progress=run.progress,
        envs=run.envs,
        population=run.population,
        learners=run.learners,
        collector=run.collector,
        judges=run.judges,
        archive=run.archive,
        values=run.values,
        estimator_state=run.estimator_state,
        device=run.config.device,
        episodes_logged=run.config.episodes_logged,
        cycle=algorithm.cycle,
        fork=partial(_fork, run),
    )


def _fork(run: Run, changes: Mapping[str, Any], name: str) -> Fork:
    inner = run.fork(changes, name)

    def finished() -> Progress:
        finish(inner)
        return inner.progress

    return Fork(inner.folder.path, inner.collector, finished)


def drive(
    run: Resumable, update: Callable[[], Outcome], hooks: Sequence[EvaluationHook] = ()
) -> Iterator[UpdateResult]:
    """Repeat a kind of update until a limit is reached, and yield after each.

    A caller that stops early saves by itself, with `run.save()`.

    Raises:
        DataError: another process writes to the folder, or has done so since the run was started.
        KeyboardInterrupt: after the current update was finished and saved; asked again, the last
            finished one (see `Interrupt`).
        RankLostError: another rank of the run has died.
    """
    with run.folder.lock(), Interrupt() as interrupt, ranks.together():
        saved, run.moving = _taken_up(run), False
        while ranks.broadcast_from_first(
            lambda: run.progress.share(run.config) < 1.0 and not interrupt.asked
        ):
            began, share = time.monotonic(), run.progress.share(run.config)
            try:
                with interrupt.stoppable(lambda: not run.moving):
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
            passed = ranks.broadcast_from_first(partial(_since, began))
            run.progress, run.moving = run.progress.plus(step=1, seconds=passed), False
            with interrupt.stoppable(lambda: False):
                logged = log(run, metrics, episodes, hooks, share)
            if run.progress.step % run.config.checkpoint_every == 0:
                run.save()
                saved = run.progress.step
            done = run.progress.share(run.config)
            yield UpdateResult(run.progress.step, metrics, episodes, logged, done)
        if saved < run.progress.step:
            run.save()
        if ranks.broadcast_from_first(lambda: interrupt.asked):
            raise KeyboardInterrupt


def _since(began: float) -> float:
    return time.monotonic() - began


def _last_good(saved: int, folder: RunFolder) -> str:
    """Return where the last usable checkpoint is, for the error after a NaN."""
    if not saved:
        return "There is no checkpoint before it"
    return f"The checkpoint of update {saved} in {folder.checkpoints} is as it was"


def _taken_up(run: Resumable) -> int:
    """Drop what was logged after the newest checkpoint, and return its update."""
    newest = checkpoint.latest_step(run.folder.checkpoints)
    if newest > run.progress.step:
        raise DataError(
            f"{run.folder.path} has gone on to update {newest} since the run was started from "
            f"update {run.progress.step}; start it again"
        )
    run.folder.truncate(run.progress.step)
    return newest
