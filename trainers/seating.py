"""Environments and agents of a run, made from its configuration in every process that plays."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from torch import nn

from coevo.agents.agent import Agent
from coevo.agents.models.nets import NetShape
from coevo.agents.policy import Policy
from coevo.agents.policy_maker import PolicyMaker
from coevo.agents.population import MakePolicy, Population
from coevo.agents.sampling import NEUTRAL
from coevo.agents.scripted import RandomAgent
from coevo.envs import make
from coevo.envs.bridges.vector import numbered
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import CoevoError, ConfigError, unknown
from coevo.trainers.collect.rollout import EpisodeSpec, rollout_of
from coevo.trainers.config import Environment, TrainConfig

NO_USE = {
    "optim_of": "does not learn and takes no step",
    "sampling_of": "is no policy of this run and draws no tokens",
}
"""Settings of parameter sets -> why an agent can have none."""


def envs_of(given: Mapping[str, Environment]) -> dict[str, TextEnv]:
    """Make the environments of a run, whose seats must be the same."""
    envs = {id: make(id, **own.options) for id, own in given.items()}
    first, *others = envs
    for other in others:
        if envs[other].possible_agents != envs[first].possible_agents:
            seats = [", ".join(envs[id].possible_agents) for id in (first, other)]
            raise ConfigError(
                f"environments of one run need the same seats: {first} has {seats[0]}; {other} has "
                f"{seats[1]}"
            )
    return envs


def policy_maker(config: TrainConfig, *, trust_remote_code: bool = False) -> PolicyMaker:
    """Return what makes the policies of a run; it holds start models, so drop it afterwards."""
    return PolicyMaker(
        config.model,
        sampling=config.sampling,
        seed=config.seed,
        device=config.device,
        trust_remote_code=trust_remote_code,
        engine=config.engine,
        dtype=config.dtype,
        shape=lambda: net_shape(config),
    )


def net_shape(config: TrainConfig) -> NetShape:
    """Return what a network reads and says in a run: in all its environments the same.

    Raises:
        ConfigError: replies are free text, or the shapes differ.
    """
    found, values = {}, any(step.reads_values for step in config.algorithm.cycle)
    for id, own in config.environments.items():
        task = numbered(make(id, **own.options))
        found[id] = NetShape(task.array_space.shape, task.numbers, values)
    first, *others = found
    for other in others:
        if found[other] != found[first]:
            raise ConfigError(
                f"a network has one shape: {first} has {found[first]}, {other} {found[other]}"
            )
    return found[first]


def population_of(
    config: TrainConfig, envs: Mapping[str, TextEnv], maker: MakePolicy
) -> Population:
    """Make the agents of a run, policies with their start weights."""
    return config.algorithm.population(next(iter(envs.values())).possible_agents, maker)


def reference_of(
    source: str | None, make: MakePolicy, learners: Mapping[str, Policy]
) -> nn.Module | None:
    """Return the model that all learners are compared with; None where no source is named.

    Raises:
        ConfigError: it reads other tokens than a learner writes.
    """
    if source is None:
        return None
    found = make("reference", model=source, learns=False, plays=False)
    for name, agent in learners.items():
        if not found.weights.reads_like(agent.weights):
            raise ConfigError(
                f"reference={source!r} and {name} have different tokens, but the reference scores "
                f"the tokens that {name} writes; give a model with the tokenizer of {name}"
            )
    model: nn.Module = found.model
    return model


def set_sampling(config: TrainConfig, population: Population) -> None:
    """Give policies sampling settings of their own; refuse what a learner cannot score."""
    policies = {n: a for n, a in population.agents.items() if isinstance(a, Policy)}
    check_owners("sampling_of", config.sampling_of, population, policies)
    own_sampling(config, policies)
    for agent in policies.values():
        _ = agent.processors  # settings that its tokenizer cannot follow raise here
    for name, agent in population.learners.items():
        if given := agent.sampling.filters:
            filters = ", ".join(f"{setting}={value:g}" for setting, value in given.items())
            off = ", ".join(f"sampling_of.{name}.{n}={NEUTRAL[n]:g}" for n in given)
            raise ConfigError(
                f"sampling of {name}: {filters}, but {name} learns: importance ratios would divide "
                f"by a distribution that the learner does not have; set {off}"
            )


def own_sampling(config: TrainConfig, policies: Mapping[str, Agent]) -> None:
    """Give those of some policies that have sampling settings of their own theirs."""
    for name in config.sampling_of:
        agent = policies.get(name)
        if isinstance(agent, Policy):
            agent.sampling = config.sampling_for(name)


def check_owners(
    setting: str,
    names: Collection[str],
    population: Population,
    owners: Mapping[str, Policy],
) -> None:
    """Refuse settings of their own for what is no parameter set, or has no use for them."""
    seated = population.assign(0, np.random.default_rng(0))
    for name in names:
        if name in owners:
            continue
        owner = seated.get(name, name)
        if owner in population.fixed and owner not in owners:
            raise ConfigError(f"{setting}.{name}: {owner} {NO_USE[setting]}")
        if owner != name:
            others = ", ".join(s for s, p in seated.items() if p == owner and s != name) or owner
            raise ConfigError(
                f"{setting}.{name}: the weights of {name} are those of {others} too; give settings "
                f"for all of them as {setting}.{owner}, or let every seat have its own "
                "(population=separate)"
            )
        raise unknown(
            f"{'learner' if setting == 'optim_of' else 'policy'} in {setting}", name, owners
        )


def check_can_play(population: Population, envs: Mapping[str, TextEnv]) -> None:
    """Let every scripted agent of a population play an episode in each of its seats.

    Policies play anything, and asking a server costs.
    """
    for name, agent in population.fixed.items():
        if not isinstance(agent, Policy) and agent.usage is None:
            for env in envs:
                _check(name, agent, population, env, envs)


def _check(
    name: str, agent: Agent, population: Population, env: str, envs: Mapping[str, TextEnv]
) -> None:
    for seat in population.may_sit(name):
        players = {s: name if s == seat else "other" for s in population.seats}
        try:
            spec = EpisodeSpec(0, players, env=env)
            rollout_of(envs, [spec], {name: agent, "other": RandomAgent()})
        except CoevoError as error:
            raise ConfigError(f"member {name!r} cannot play {seat} of {env}: {error}") from None
