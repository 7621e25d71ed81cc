"""The training loop: play, reward, credit, update, log, keep. No algorithm is named here."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from coevo.agents.agent import Agent
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_model
from coevo.agents.population import POPULATION, Population
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.envs.rewards import reward
from coevo.trainers import checkpoint
from coevo.trainers.checkpoint import Progress
from coevo.trainers.config import TrainConfig
from coevo.trainers.gather import Gathered, Gatherer
from coevo.trainers.interrupt import Interrupt
from coevo.trainers.learner import Learner
from coevo.trainers.learning import learn_again, learn_batch
from coevo.trainers.metrics import rollout_metrics
from coevo.trainers.rows import build, note_advantages
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.weights import schedule

Probe = Callable[[Mapping[str, Agent]], Mapping[str, float]]
"""Measures the current policies: policy name -> agent in, metric name -> value out."""
Report = Callable[[int, Mapping[str, Any], float], None]
"""Told after every update: step, metrics, share of the run that is done."""


@dataclass
class Run:
    """A run in memory: everything that an update reads or changes."""

    config: TrainConfig
    folder: RunFolder
    env: TextEnv
    population: Population
    learners: dict[str, Learner]
    gatherer: Gatherer
    progress: Progress = field(default_factory=Progress)
    estimator_state: dict[str, Any] = field(default_factory=dict)
    saved: int = -1
    """Step of the newest checkpoint."""
    moving: bool = False
    """Whether an update is between its first and its last change of weights."""

    def policies(self) -> dict[str, LanguageModelAgent]:
        """Give what the run would hand out now: the averaged iterate where the record keeps it."""
        return {name: output_policy(learner) for name, learner in self.learners.items()}


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


def start(config: TrainConfig, folder: RunFolder) -> Run:
    """Build a run and fill it from its newest checkpoint, if there is one."""
    if config.threads:
        torch.set_num_threads(config.threads)
    env = make(config.env, **config.env_options)
    algorithm = config.algorithm
    model, tokenizer = load_model(
        config.model, device=config.device, trust_remote_code=config.trust_remote_code
    )

    def policy(name: str) -> LanguageModelAgent:
        own: Any = type(model)(model.config)
        own = own.to(device=model.device, dtype=model.dtype)
        own.load_state_dict(model.state_dict())
        own.generation_config = model.generation_config
        return LanguageModelAgent(own, tokenizer, name=name, sampling=config.sampling)

    maker = POPULATION[algorithm.population.name]
    population = maker(env.possible_agents, policy, **algorithm.population.params)
    learners = {n: Learner(agent, algorithm) for n, agent in population.learners.items()}
    modules = [reward(option.name, **option.params) for option in algorithm.rewards]
    # The environment pays its online modules as it goes and leaves the others to us.
    modules += [module for module in env.reward_modules if not module.online]
    _check_names([m.name for m in modules] + [m.name for m in env.reward_modules if m.online])
    for agent in population.learners.values():
        agent.version = 0
    gatherer = Gatherer(config, population, modules)
    run = Run(config, folder, env, population, learners, gatherer)
    newest = checkpoint.latest(folder.checkpoints)
    if newest is not None:
        _restore(run, checkpoint.load(newest, learners, population))
    folder.cut_back(run.progress.step)
    return run


def _check_names(names: Sequence[str]) -> None:
    """Refuse two modules of one name: their payments would add up to one component."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(
            f"two reward modules are called {twice[0]!r}, one of the environment's and one of the "
            "algorithm's; leave one out (--set rewards=none) or give it another name"
        )


def _restore(run: Run, loaded: tuple[Progress, dict[str, Any]]) -> None:
    run.progress, state = loaded
    run.saved = run.progress.step
    run.estimator_state = state["estimator"]
    for module in run.gatherer.modules:
        module.load_state_dict(state["rewards"].get(module.name, {}))
    if "sampler" in state:
        run.gatherer.load_state_dict(state["sampler"])
    for learner in run.learners.values():
        learner.agent.version = run.progress.step


def share_done(run: Run) -> float:
    """Give the share of the run that is done, by whichever limit is nearest."""
    config, progress = run.config, run.progress
    shares = [
        progress.step / config.steps if config.steps else 0.0,
        progress.seconds / config.budget_seconds if config.budget_seconds else 0.0,
        progress.tokens / config.budget_tokens if config.budget_tokens else 0.0,
        progress.turns / config.budget_turns if config.budget_turns else 0.0,
    ]
    return min(max(shares), 1.0)


def finished(run: Run) -> bool:
    """Tell whether a limit is reached."""
    return share_done(run) >= 1.0


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


def keep(run: Run) -> None:
    """Write a checkpoint unless the newest one is of this step."""
    if run.saved == run.progress.step:
        return
    rewards = {m.name: m.state_dict() for m in run.gatherer.modules}
    state = {
        "estimator": run.estimator_state,
        "rewards": rewards,
        "sampler": run.gatherer.state_dict(),
    }
    checkpoint.save(
        run.folder.checkpoints,
        run.learners,
        run.population,
        run.progress,
        state,
        run.config.keep_checkpoints,
    )
    run.saved = run.progress.step


def output_policy(learner: Learner) -> LanguageModelAgent:
    """Give the policy that a learner stands for: its average of iterates, if it keeps one."""
    agent = learner.agent
    if learner.output is agent.model:
        return agent
    averaged = LanguageModelAgent(
        learner.output, agent.tokens.tokenizer, name=agent.name, sampling=agent.sampling
    )
    averaged.version = agent.version
    return averaged
