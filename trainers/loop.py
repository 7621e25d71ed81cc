"""The training loop: play, reward, credit, update, log, keep. No algorithm is named here."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from coevo.agents.agent import Agent
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import CoevoError
from coevo.trainers.config import TrainConfig
from coevo.trainers.gather import Gathered
from coevo.trainers.interrupt import Interrupt
from coevo.trainers.learning import learn_again, learn_batch
from coevo.trainers.metrics import rollout_metrics
from coevo.trainers.rows import build, note_advantages
from coevo.trainers.run import Run, finished, keep, share_done, start
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.weights import schedule

Probe = Callable[[Mapping[str, Agent]], Mapping[str, float]]
"""Measures the current policies: policy name -> agent in, metric name -> value out."""
Report = Callable[[int, Mapping[str, Any], float], None]
"""Told after every update: step, metrics, share of the run that is done."""


def train(
    config: TrainConfig,
    folder: RunFolder,
    *,
    probes: Sequence[Probe] = (),
    report: Report | None = None,
) -> Run:
    """Train until a limit of the configuration is reached, or continue a run that was stopped.

    Args:
        config: the run; a folder that already holds checkpoints of it is continued.
        folder: where everything is written.
        probes: measured every `probe_every` updates and after the last.
        report: told after every update.

    Raises:
        KeyboardInterrupt: after the current update was finished and saved.
    """
    run = start(config, folder)
    with Interrupt() as interrupt:
        while not finished(run) and not interrupt.asked:
            began, share = time.monotonic(), share_done(run)
            metrics, episodes = _kept_on_failure(run)
            seconds = run.progress.seconds + time.monotonic() - began
            run.progress = replace(run.progress, step=run.progress.step + 1, seconds=seconds)
            last = finished(run) or interrupt.asked
            _after_update(run, metrics, episodes, probes, last or probe_due(run, share))
            if report is not None:
                report(run.progress.step, metrics, share_done(run))
        keep(run)
        if interrupt.asked:
            raise KeyboardInterrupt
    return run


def _kept_on_failure(run: Run) -> tuple[dict[str, Any], list[Episode]]:
    """Do an update; if its plays fail, save what was reached before: no weight has moved yet."""
    try:
        return update(run)
    except CoevoError:
        if run.saved < run.progress.step and not run.moving:
            keep(run)
        raise


def probe_due(run: Run, share_before: float) -> bool:
    """Tell whether the update that just ended is one after which a run is probed."""
    points = run.config.probe_points
    if not points:
        return run.progress.step % run.config.probe_every == 0
    return math.floor(share_done(run) * points) > math.floor(share_before * points)


def update(run: Run) -> tuple[dict[str, Any], list[Episode]]:
    """Do one update: play, reward, credit, loss, step. Gives metrics and the plays."""
    began = time.monotonic()
    if run.gatherer.replay.reincarnates(run.progress.step):
        for learner in run.learners.values():
            learner.move_reference()
    gathered = run.gatherer.gather(run.progress.step)
    played = time.monotonic()
    episodes, tokens = gathered.episodes[: gathered.fresh], gathered.tokens
    turns = sum(len(e.turns) for e in episodes)
    run.progress = replace(
        run.progress, tokens=run.progress.tokens + tokens, turns=run.progress.turns + turns
    )
    metrics: dict[str, Any] = rollout_metrics(run.env.possible_agents, episodes)
    metrics |= gathered.metrics | learn(run, gathered)
    for module in run.gatherer.modules:
        metrics |= {f"reward/{module.name}/{k}": v for k, v in module.fit(episodes).items()}
    for name, learner in run.learners.items():
        learner.after_update(run.progress.step + 1)
        run.population.learners[name].version = run.progress.step + 1
    run.population.after_update(run.progress.step + 1)
    run.moving = False
    seconds = time.monotonic() - began
    metrics |= {
        "tokens": tokens,
        "tokens_per_second": tokens / seconds,
        "seconds": seconds,
        "seconds/play": played - began,
    }
    return metrics, episodes


def learn(run: Run, gathered: Gathered) -> dict[str, float]:
    """Let every parameter set learn from the plays of an update; gives metrics."""
    config, step = run.config, run.progress.step
    advantage = run.config.algorithm.advantage
    batch = build(
        gathered.episodes,
        gathered.groups,
        run.learners,
        gathered.baselines,
        steps=advantage.steps,
        others=advantage.others,
    )
    if batch is None:
        return {}
    run.moving = True
    rate = schedule(config.algorithm.optim, step, share_done(run))
    state = run.estimator_state
    learnt = learn_batch(
        config.algorithm, run.learners, batch, state, rate=rate, seed=config.seed + step
    )
    run.estimator_state = learnt.state
    note_advantages(batch, learnt.advantage_BS, config.episodes_logged)
    run.gatherer.keep(gathered, batch, learnt.advantage_BS, step)
    again = run.gatherer.again(step)
    if again is None:
        return learnt.metrics
    return learnt.metrics | learn_again(
        config.algorithm, run.learners, again, rate=rate, seed=config.seed + step
    )


def _after_update(
    run: Run,
    metrics: dict[str, Any],
    episodes: Sequence[Episode],
    probes: Sequence[Probe],
    probing: bool,
) -> None:
    step, config = run.progress.step, run.config
    if probing and probes:
        policies = run.policies()
        for probe in probes:
            metrics |= probe(policies)
    metrics |= {
        "total_tokens": run.progress.tokens,
        "total_turns": run.progress.turns,
        "total_seconds": run.progress.seconds,
    }
    run.folder.log(step, metrics, episodes[: config.episodes_logged] if probing else ())
    if step % config.checkpoint_every == 0:
        keep(run)
