"""Episodes that measure an agent; all benchmarks play through this module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coevo.agents.agent import Agent, NoReplyError
from coevo.agents.registry import scripted
from coevo.benchmarks.usage import Usage, account_of, tokens_of
from coevo.envs.core.episode import Episode, StopReason
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

AT_ONCE = 256


@dataclass(frozen=True)
class Rollouts:
    """Episodes that were played to measure an agent."""

    specs: Sequence[EpisodeSpec]
    episodes: Sequence[Episode]
    usage: Usage
    """Of the agent that is measured."""

    @property
    def finished(self) -> list[tuple[EpisodeSpec, Episode]]:
        """Return the episodes that were not stopped from outside.

        NoReplyError where there is none.
        """
        pairs = zip(self.specs, self.episodes, strict=True)
        found = [(s, e) for s, e in pairs if e.stop is not StopReason.ERROR]
        if not found:
            number, note = len(self.episodes), self.episodes[0].note
            raise NoReplyError(f"none of {number} episodes could be finished: {note}")
        return found


def play(
    env_id: str,
    specs: Sequence[EpisodeSpec],
    players: Mapping[str, Agent],
    env_options: Mapping[str, Any] | None = None,
    measured: str = "agent",
) -> Rollouts:
    """Play episodes, some at a time.

    `players` is name -> agent; the usage of `measured` is counted.
    """
    before = account_of(players[measured])
    episodes = [
        episode
        for start in range(0, len(specs), AT_ONCE)
        for episode in rollout(env_id, specs[start : start + AT_ONCE], players, env_options)
    ]
    used = account_of(players[measured]) - before
    return Rollouts(specs, episodes, tokens_of(episodes, measured) + used)


def task_seeds(number: int, seed: int) -> list[int]:
    """Return the seeds of start states, each another; equal seeds give every agent equal ones."""
    drawn = np.random.default_rng([seed, 2]).choice(2**31, number, replace=False, shuffle=False)
    return [int(s) for s in drawn]


def opponent_agent(given: Agent | str | None) -> Agent | None:
    """Return the agent behind a name; agents and None are given back."""
    return scripted(given, "opponent") if isinstance(given, str) else given
