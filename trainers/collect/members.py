"""Whether the agents of a population can play: asked before a run begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coevo.agents.agent import Agent
from coevo.agents.policy import Policy
from coevo.agents.population import Population
from coevo.agents.scripted import RandomAgent
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.trainers.collect.rollout import EpisodeSpec, rollout


def check_members(population: Population, env: str, options: Mapping[str, Any]) -> None:
    """Let every scripted agent of a population play an episode in each of its seats.

    Policies play anything, and asking a server costs.

    Raises:
        ConfigError: one cannot play the environment.
    """
    for name, agent in population.fixed.items():
        if not isinstance(agent, Policy) and agent.usage is None:
            _check(name, agent, population, env, options)


def _check(
    name: str, agent: Agent, population: Population, env: str, options: Mapping[str, Any]
) -> None:
    for seat in population.may_sit(name):
        players = {s: name if s == seat else "other" for s in population.seats}
        try:
            rollout(env, [EpisodeSpec(0, players)], {name: agent, "other": RandomAgent()}, options)
        except CoevoError as error:
            raise ConfigError(f"member {name!r} cannot play {seat} of {env}: {error}") from None
