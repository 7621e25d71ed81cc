"""A run in memory: made from its configuration, filled from a checkpoint, kept in one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.policy_maker import PolicyMaker
from coevo.agents.population import POPULATION, Population
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.rewards import reward
from coevo.trainers import checkpoint
from coevo.trainers.checkpoint import Progress
from coevo.trainers.config import TrainConfig
from coevo.trainers.gather import Gatherer
from coevo.trainers.learner import Learner
from coevo.trainers.run_folder import RunFolder


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
        """Give what the run would hand out now: the averaged iterate where the record keeps it.

        Where every seat has its place, the policy of each seat, the frozen ones included.
        """
        own = {name: output_policy(learner) for name, learner in self.learners.items()}
        return self.population.by_seat(own)


def start(config: TrainConfig, folder: RunFolder) -> Run:
    """Build a run and fill it from its newest checkpoint, if there is one."""
    if config.threads:
        torch.set_num_threads(config.threads)
    env = make(config.env, **config.env_options)
    algorithm = config.algorithm
    maker = PolicyMaker(
        config.model,
        sampling=config.sampling,
        seed=config.seed,
        device=config.device,
        trust_remote_code=config.trust_remote_code,
    )
    kind = algorithm.population
    population = POPULATION[kind.name](env.possible_agents, maker, **kind.params)
    _check_owners(algorithm.optim_of, population)
    learners = {
        name: Learner(agent, algorithm, algorithm.optim_for(name))
        for name, agent in population.learners.items()
    }
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


def _check_owners(names: Collection[str], population: Population) -> None:
    """Refuse optimiser settings for what is no parameter set of its own, or does not learn."""
    seated = population.assign(0, np.random.default_rng(0))
    for name in names:
        if name in population.learners:
            continue
        owner = seated.get(name, name)
        if owner != name:
            others = ", ".join(s for s, p in seated.items() if p == owner and s != name)
            raise ConfigError(
                f"optim_of.{name}: the weights of {name} are those of {others} too; give settings "
                f"for all of them as optim_of.{owner}, or let every seat have its own "
                "(population=separate)"
            )
        if name in population.others:
            raise ConfigError(f"optim_of.{name}: {name} is frozen and takes no step")
        raise unknown("learner in optim_of", name, population.learners)


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
