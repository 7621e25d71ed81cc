"""Whether the agents of a population can play: asked before a run begins."""

from __future__ import annotations

from collections.abc import Mapping

from coevo.agents.agent import Agent
from coevo.agents.policy import Policy
from coevo.agents.population import Population
from coevo.agents.scripted import RandomAgent
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.trainers.collect.rollout import EpisodeSpec, rollout_of


def check_members(population: Population, envs: Mapping[str, TextEnv]) -> None:
    """Let every scripted agent of a population play an episode in each of its seats.

    Policies play anything, and asking a server costs.

    Raises:
        ConfigError: one cannot play the environment.
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
