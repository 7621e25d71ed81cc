"""Learners of stable-baselines3 as baselines: same environments, same budgets, same files.

One seat at a time learns on the vector view of an environment, changing seats with every play; the
other seats are past selves. The folder is a run folder: config.yaml, metrics.jsonl, episodes.jsonl,
checkpoints. Turns count the replies of all seats, as in every other run; the last update may go
over the budget by what one update takes (`update_steps` actions, and the replies to them).

A run that is stopped or killed goes on from its newest checkpoint: weights, optimiser, past selves
and counters. Plays under way, DQN's replay buffer and the state of random generators are made
anew, so a continued run is a complete run of the same budget, but not bit-equal to one in a piece.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from safetensors import SafetensorError

from coevo.agents.sb3 import SB3Agent
from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers import checkpoint
from coevo.trainers.checkpoint import Progress
from coevo.trainers.interrupt import Interrupt
from coevo.trainers.run_folder import RunFolder, StorageError, replace_text, storage
from coevo.trainers.sb3_learner import SB3Learner
from coevo.trainers.sb3_settings import SB3Config, SelfPlay, Settings

Probe = Callable[[SB3Agent], Mapping[str, float]]
"""Measures the current policy: agent in, metric name -> value out."""
Report = Callable[[int, Mapping[str, Any], float], None]
"""Told after every update: step, metrics, share of the run that is done."""
EPISODES_LOGGED = 4
"""Plays written to `episodes.jsonl` at every probe."""
KEPT = 2
"""Complete checkpoints left on disk."""


class Trained(NamedTuple):
    """What a run of a baseline ends with."""

    agent: SB3Agent
    """The policy after the last update."""
    progress: Progress
    """Updates, seconds and turns; no tokens."""


def train_sb3(
    algo: str,
    env_id: str,
    *,
    folder: Path,
    env_options: Mapping[str, Any] | None = None,
    seed: int = 0,
    budget_turns: int | None = None,
    budget_seconds: float | None = None,
    points: int = 20,
    probe: Probe | None = None,
    report: Report | None = None,
    opponents: str = "self",
    settings: Settings | None = None,
    self_play: SelfPlay | None = None,
    checkpoint_every: int = 20,
) -> Trained:
    """Train a baseline until its budget is spent, or continue a run that was stopped.

    Args:
        algo: `ppo`, `dqn` or `maskable_ppo`, with or without `sb3:`.
        env_id: registered environment on OpenSpiel rules.
        folder: of the run; one that holds checkpoints of the same run is continued.
        env_options: arguments of the environment.
        seed: of everything that is random.
        budget_turns: replies of all seats.
        budget_seconds: of training, probes not counted.
        points: probes spread evenly over the budget, the last at its end. Where an update is longer
            than the distance of two points, there is one probe for both.
        probe: measures the policy, also before the first update (`step` 0).
        report: told after every update; an exception from it stops the run.
        opponents: `self`, or the name of a player as in `gymnasium.make`.
        settings: of the learner; None takes those of `coevo.trainers.sb3_settings`.
        self_play: which past selves play.
        checkpoint_every: updates between checkpoints; the last update is always kept.

    Raises:
        ConfigError: an argument makes no sense, or the folder holds another run.
        KeyboardInterrupt: after the current update was finished and saved.
    """
    config = SB3Config(
        algo=algo,
        env=env_id,
        env_options=dict(env_options or {}),
        seed=seed,
        budget_turns=budget_turns,
        budget_seconds=budget_seconds,
        points=points,
        opponents=opponents,
        settings=settings,
        self_play=self_play or SelfPlay(),
        checkpoint_every=checkpoint_every,
    )
    run = RunFolder(folder)
    learner = _start(config, run)
    with Interrupt() as interrupt:
        if probe is not None and not run.read_metrics():
            run.log(0, {**probe(learner.agent()), **_spent(learner.progress)})
        while share_done(config, learner.progress) < 1.0 and not interrupt.asked:
            _update(learner, run, probe, report)
        _keep(learner, run)
        if interrupt.asked:
            raise KeyboardInterrupt
    return Trained(learner.agent(), learner.progress)


def share_done(config: SB3Config, progress: Progress) -> float:
    """Give the share of a run that is done, by whichever limit is nearest."""
    turns = progress.turns / config.budget_turns if config.budget_turns else 0.0
    seconds = progress.seconds / config.budget_seconds if config.budget_seconds else 0.0
    return min(max(turns, seconds), 1.0)


def _start(config: SB3Config, run: RunFolder) -> SB3Learner:
    """Make the learner, and fill it from the newest checkpoint if there is one."""
    _check_same(config, run)
    newest = checkpoint.latest(run.checkpoints)
    if newest is not None:
        checkpoint.verify(newest)
    learner = SB3Learner(config, newest)
    run.cut_back(learner.progress.step)
    return learner


def _check_same(config: SB3Config, run: RunFolder) -> None:
    """Write the configuration of a new run; refuse a folder that holds another run."""
    path, wanted = run.path / "config.yaml", config.to_plain()
    if not path.exists():
        with storage(run.path):
            run.checkpoints.mkdir(parents=True, exist_ok=True)
            replace_text(path, str(yaml.safe_dump(wanted, sort_keys=False, allow_unicode=True)))
        return
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise DataError(f"{path} is damaged: {' '.join(str(error).split())}") from None
    for name, value in wanted.items():
        before = found.get(name) if isinstance(found, dict) else None
        if name != "sb3_defaults" and before != value:
            raise ConfigError(
                f"{run.path} holds a run with {name}={before}, not {value}; give another folder"
            )


def _update(
    learner: SB3Learner, run: RunFolder, probe: Probe | None, report: Report | None
) -> None:
    """Do one update, probe where it is due, log it, and keep it from time to time."""
    config, began = learner.config, time.monotonic()
    before = share_done(config, learner.progress)
    metrics = learner.update(before)
    seconds = time.monotonic() - began
    learner.progress = replace(learner.progress, seconds=learner.progress.seconds + seconds)
    share, step = share_done(config, learner.progress), learner.progress.step
    due = math.floor(share * config.points) > math.floor(before * config.points)
    if due and probe is not None:
        metrics |= probe(learner.agent())
    metrics |= {"seconds": seconds, **_spent(learner.progress)}
    run.log(step, metrics, learner.finished[:EPISODES_LOGGED] if due else ())
    if step % config.checkpoint_every == 0:
        _keep(learner, run)
    if report is not None:
        report(step, metrics, share)


def _spent(progress: Progress) -> dict[str, float]:
    return {
        "total_tokens": progress.tokens,
        "total_turns": progress.turns,
        "total_seconds": progress.seconds,
    }


def _keep(learner: SB3Learner, run: RunFolder) -> None:
    """Write a checkpoint unless this step has one."""
    final = run.checkpoints / f"step_{learner.progress.step:06d}"
    if final in checkpoint.complete(run.checkpoints):
        return
    work = final.with_name(f".{final.name}.tmp")
    with storage(final):
        shutil.rmtree(work, ignore_errors=True)
        try:
            learner.save(work)
            checkpoint.seal(work)
            checkpoint.remove(final)
            work.rename(final)
            checkpoint.tidy(run.checkpoints, KEPT)
        except SafetensorError as error:
            raise StorageError(f"cannot write {final}: {error}. Earlier ones are intact") from None
        finally:
            shutil.rmtree(work, ignore_errors=True)
