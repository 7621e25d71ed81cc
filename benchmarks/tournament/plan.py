"""The settings of a tournament, fixed before anything is played; written to `manifest.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from coevo.agents.models.folders import fingerprint
from coevo.benchmarks.outcomes import is_contest
from coevo.benchmarks.tournament.schedule import Schedule, episodes_per_task, pairs
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError

KIND = "tournament"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that the results of a tournament depend on, beside the agents' weights."""

    agents: tuple[str, ...]
    """Names as they were given; two or more, each once."""
    env: str
    env_options: Mapping[str, Any] = field(default_factory=dict)
    games: int = 400
    """Most episodes per pair, rounded up to whole tasks."""
    seed: int = 0
    """Of tasks, sampling and resampling."""
    adaptive: bool = False
    """Whether pairs stop as soon as their direction is known."""
    exploiter: Mapping[str, float] | None = None
    """Budget of one trained exploiter, {"tokens": N} or {"seconds": S}; None trains none."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Settings by which replies of all agents are drawn; others are what a model is used to."""

    def __post_init__(self) -> None:
        twice = [name for name in self.agents if self.agents.count(name) > 1]
        if twice:
            raise ConfigError(
                f"agent {twice[0]!r} is named twice; every agent plays under one name"
            )
        if len(self.agents) < 2:
            given = ", ".join(self.agents) or "none"
            raise ConfigError(f"a tournament needs two agents or more; given: {given}")
        if "human" in self.agents:
            raise ConfigError("'human' cannot play a tournament; play one game with `coevo play`")
        if self.games < 1:
            raise ConfigError(f"games={self.games} must be at least 1")
        if self.seed < 0:
            raise ConfigError(f"seed={self.seed} must not be negative")

    def weights(self) -> dict[str, str]:
        return {name: fingerprint(name) for name in self.agents}

    def environment(self) -> TextEnv:
        """Make the environment; one that is for a single seat is refused."""
        env = make(self.env, **self.env_options)
        if len(env.possible_agents) < 2:
            raise ConfigError(f"{self.env} has one seat: there is no opponent")
        return env

    def schedule(self, env: TextEnv) -> Schedule:
        """Return all that can be played: with self-play where an episode is no contest."""
        return Schedule(
            seats=tuple(env.possible_agents),
            pairs=tuple(pairs(self.agents, self_play=not is_contest(env))),
            tasks=math.ceil(self.games / episodes_per_task(len(env.possible_agents))),
            seed=self.seed,
            adaptive=self.adaptive,
        )
