"""A run in memory: made from its configuration, filled from a checkpoint, saved in one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from coevo.agents.agent import Agent
from coevo.agents.models.copies import FrozenCopies
from coevo.agents.policy import Policy
from coevo.agents.population import MakePolicy, Population
from coevo.envs.core.config import assign
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError, legible
from coevo.envs.core.rewards import RewardModule
from coevo.trainers import checkpoint, ranks, run_state
from coevo.trainers.advantage import check_weights
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.archive.archive import Archive
from coevo.trainers.collect.collector import Collector
from coevo.trainers.collect.part import RolloutBackend
from coevo.trainers.config import TrainConfig
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.judges.roles import Roles, bind
from coevo.trainers.learners.learner import Learner
from coevo.trainers.learners.room import check_room
from coevo.trainers.progress import Progress
from coevo.trainers.run_folder import Onlooker, RunFolder
from coevo.trainers.samplers.curriculum import Source
from coevo.trainers.seating import (
    check_can_play,
    check_owners,
    envs_of,
    policy_maker,
    population_of,
    reference_of,
    set_sampling,
)
from coevo.trainers.values.value_state import ValueState

MakeBackend = Callable[[Population], RolloutBackend | None]
"""Makes the rollout backend of a population; None runs rollouts in this process."""
INNER = "inner"
"""Folder of the forks of a run."""


@dataclass
class Run:
    """A run in memory: everything that an update reads or changes."""

    config: TrainConfig
    folder: RunFolder
    envs: Mapping[str, TextEnv]
    """Environment id -> one of it that was never reset."""
    population: Population
    learners: dict[str, Learner]
    collector: Collector
    judges: Roles
    progress: Progress = field(default_factory=Progress)
    estimator_state: dict[str, Any] = field(default_factory=dict)
    archive: Archive = field(default_factory=Archive)
    values: ValueState = field(default_factory=ValueState)
    moving: bool = False
    """Whether an update is between its first and its last change of weights."""
    trust_remote_code: bool = False
    """Whether code that comes with a model is run, in forks too."""
    before_step: Callable[[Step, UpdateContext], None] = field(default=lambda step, ctx: None)
    """Is called before every step of an update; it looks, and changes nothing."""

    def fork(self, changes: Mapping[str, Any], name: str) -> Run:
        """Return another run, in a folder under this one's, that differs in some settings.

        It starts from its own start model, or continues where it was stopped. An existing folder
        with a different configuration is deleted.
        """
        config = assign(self.config, changes)
        folder = RunFolder(self.folder.path / INNER / name)
        if not folder.holds(config):
            folder.clear()
            folder.create(config)
        return start(config, folder, trust_remote_code=self.trust_remote_code)

    def scheduled(self) -> Algorithm:
        """Return the algorithm as its schedules have it now; what keeps settings takes them."""
        own = self.config.algorithm
        algorithm = own.after(self.progress.step, self.progress.share(self.config))
        if own.schedules:
            self.collector.follow(algorithm.collect, algorithm.advantage.reward_weights)
            for name, learner in self.learners.items():
                learner.follow(algorithm, algorithm.optim_for(name))
        return algorithm

    def after_update(self) -> None:
        """Update the EMA weights, magnets and past selves, and publish the new weights."""
        step = self.progress.step + 1
        for name, learner in self.learners.items():
            learner.after_update(step)
            self.population.learners[name].publish(step)
        self.population.after_update(step)

    def policies(self) -> Mapping[str, Agent]:
        """Return the current policies, with EMA weights where the algorithm keeps them.

        Where every seat has an agent of its own, also the agents that do not learn.
        """
        seated = {n: x for n, x in self.learners.items() if n not in self.judges.apart}
        own = {name: output_policy(learner) for name, learner in seated.items()}
        return self.population.by_seat(own)

    def save(self) -> None:
        state = {
            "estimator": self.estimator_state,
            "rewards": {m.component: m.state_dict() for m in self.collector.modules},
            "collect": self.collector.state_dict(),
            "population": self.population.state_dict(),
            "archive": self.archive.state_dict(),
            "values": self.values.state_dict(),
            "judges": self.judges.state_dict(),
        }
        self.folder.seal(self.progress.step)
        run_state.save(
            self.folder.checkpoints,
            self.learners,
            self.population,
            self.progress,
            state,
            self.config.keep_checkpoints,
            {"archive": self.archive.tensors(), "values": self.values.tensors()},
        )


def start(
    config: TrainConfig,
    folder: RunFolder,
    maker: MakePolicy | None = None,
    *,
    trust_remote_code: bool = False,
    make_backend: MakeBackend | None = None,
) -> Run:
    """Build a run and fill it from its newest checkpoint, if there is one.

    `maker` makes its policies, by default from `config.model`; `make_backend` what plays, by
    default this process. No configuration can say that code that comes with a model is run.
    """
    if config.threads:
        torch.set_num_threads(config.threads)
    if ranks.count() > 1:
        _check_ranks(config)
    if ranks.number():
        folder = Onlooker(folder.path)
    envs = envs_of(config.environments)
    algorithm = config.algorithm
    maker = maker or policy_maker(config, trust_remote_code=trust_remote_code)
    population = population_of(config, envs, maker)
    check_can_play(population, envs)
    every = [*algorithm.rewards, *(m for env in envs.values() for m in env.reward_modules)]
    apart = bind(population, maker, algorithm.judges, every)
    learners = _learners(config, population, maker, every)
    modules = _modules(algorithm, envs)
    for agent in population.learners.values():
        agent.publish(0)
    judges = Roles(algorithm.judges, population.agents, learners, apart)
    backend = None if make_backend is None else make_backend(population)
    collector = _collector(config, envs, population, modules, judges, backend)
    check_weights(algorithm.advantage.reward_weights, collector.components)
    run = Run(config, folder, envs, population, learners, collector, judges)
    run.trust_remote_code = trust_remote_code
    newest = checkpoint.latest(folder.checkpoints)
    if newest is not None:
        _restore(run, newest)
    return run


def _learners(
    config: TrainConfig,
    population: Population,
    make: MakePolicy,
    modules: Sequence[RewardModule],
) -> dict[str, Learner]:
    """Make a learner for every parameter set, with a reward head where a module reads one."""
    algorithm = config.algorithm
    heads = {algorithm.judges[role].policy for module in modules for role in module.heads_asked}
    check_owners("optim_of", algorithm.optim_of, population, population.learners)
    set_sampling(config, population)
    # Start models that frozen players hold serve as references, too.
    frozen = FrozenCopies(a.model for a in population.fixed.values() if isinstance(a, Policy))
    reference = reference_of(algorithm.reference, make, population.learners)
    learners = {
        name: Learner(
            agent,
            algorithm,
            algorithm.optim_for(name),
            recompute=config.gradient_checkpointing,
            rewards=name in heads,
            frozen=frozen,
            reference=reference,
        )
        for name, agent in population.learners.items()
    }
    check_room(learners)
    return learners


def _modules(algorithm: Algorithm, envs: Mapping[str, TextEnv]) -> list[RewardModule]:
    """Return what scores finished episodes; the environment applies its per-turn modules."""
    modules = [copy.deepcopy(module) for module in algorithm.rewards]  # what one learns stays here
    modules += _batch_modules(envs)
    for env in envs.values():
        applied = [m for m in env.reward_modules if m.per_turn]
        _check_names([m.component for m in [*modules, *applied]])
    return modules


def _collector(
    config: TrainConfig,
    envs: Mapping[str, TextEnv],
    population: Population,
    modules: Sequence[RewardModule],
    judges: Roles,
    backend: RolloutBackend | None,
) -> Collector:
    weight = {id: own.weight for id, own in config.environments.items()}
    return Collector(
        config.algorithm.collect,
        config.seed,
        {id: Source(env, weight[id], config.skill(id)) for id, env in envs.items()},
        population,
        modules,
        judges,
        config.rollout_parts,
        backend,
        config.algorithm.advantage.reward_weights,
        config.algorithm.needs_greedy,
    )


def _check_ranks(config: TrainConfig) -> None:
    alone = [step for step in config.algorithm.cycle if not step.in_ranks]
    if alone:
        raise ConfigError(
            f"{ranks.count()} ranks and cycle step {alone[0]} contradict each other: one process "
            "takes it; start coevo without torchrun and --ranks"
        )


def _batch_modules(envs: Mapping[str, TextEnv]) -> list[RewardModule]:
    """Return the modules that environments leave to the trainer, which scores all episodes."""
    found = {id: [m for m in env.reward_modules if not m.per_turn] for id, env in envs.items()}
    first, *others = found
    for other in others:
        if found[other] != found[first]:
            raise ConfigError(
                f"environments of one run need the same rewards over whole episodes: {first} has "
                f"{[m.name for m in found[first]]}, {other} {[m.name for m in found[other]]}; give "
                "them in env_options or as rewards of the algorithm"
            )
    return found[first]


def _check_names(names: Sequence[str]) -> None:
    """Refuse two modules of one component: their rewards would add up."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(
            f"two reward modules are called {twice[0]!r}, one of the environment's and one of the "
            "algorithm's; leave one out (--set rewards=[]) or give it another name"
        )


def _restore(run: Run, newest: Path) -> None:
    run.progress, state = run_state.load(newest, run.learners, run.population)
    with legible(newest):
        run.estimator_state = state["estimator"]
        for module in run.collector.modules:
            module.load_state_dict(state["rewards"].get(module.component, {}))
        tensors = state.get("tensors", {})
        run.archive.load_state_dict(state["archive"], tensors.get("archive", {}))
        run.values.load(state["values"], tensors.get("values", {}))
        run.collector.load_state_dict(state["collect"])
        run.population.load_state_dict(state["population"])
        run.judges.load_state_dict(state["judges"])
        for learner in run.learners.values():
            learner.agent.publish(run.progress.step)


def output_policy(learner: Learner) -> Policy:
    """Return the policy that a learner stands for: with its ema weights, if it keeps them."""
    agent = learner.agent
    return agent if learner.output is agent.model else agent.having(learner.output)
