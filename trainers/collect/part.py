"""A part of an update's episodes: played at once, in this process or in another one.

What happens in a part depends on the part and on the weights alone: every agent's sampling is
started anew for it, and each of its conversations draws from random numbers of its own. So it does
not matter which process plays it, or when, nor, up to last digits, how episodes are cut into parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from coevo.agents.agent import Agent
from coevo.agents.policy import Policy
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode
from coevo.trainers.collect.rollout import EpisodeSpec, rollout_of

GREEDY = "@greedy"
"""Ending of the names of greedy twins."""


@dataclass(frozen=True)
class Part:
    """Episodes that are played at once."""

    specs: tuple[EpisodeSpec, ...]
    seeds: Mapping[str, int]
    """Agent -> seed of its sampling."""
    first: int = 0
    """How many episodes of the update come before them."""

    @property
    def players(self) -> set[str]:
        """Names of the players, greedy twins included."""
        return {name for spec in self.specs for name in spec.players.values()}


class RolloutBackend(Protocol):
    """Plays parts somewhere."""

    def __call__(
        self, parts: Sequence[Part], agents: Mapping[str, Agent]
    ) -> Sequence[list[Episode]]:
        """Return the episodes of every part, in the order of its specs."""


def play_part(
    part: Part, envs: Mapping[str, TextEnv], agents: Mapping[str, Agent]
) -> list[Episode]:
    """Play a part, and return its episodes in the order of its specs.

    Environments go by what specs call them, never reset; agents without a seat draw anew as well.
    """
    for name, agent in agents.items():
        agent.reseed(part.seeds[name])
    twins: dict[str, Agent] = {}
    for name in part.players:
        own = agents.get(name.removesuffix(GREEDY))
        if name.endswith(GREEDY) and isinstance(own, Policy):
            twins[name] = own.greedy(name)
    return rollout_of(envs, part.specs, {**agents, **twins}, part.first)
