"""Texts that are tried as replies, and agents that are tried in all seats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from coevo.agents.agent import Agent
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import unknown
from coevo.envs.core.parsing import Status
from coevo.trainers.collect.metrics import worth
from coevo.trainers.collect.rollout import EpisodeSpec, rollout_of


@dataclass(frozen=True)
class Tried:
    """What came of a text."""

    text: str
    """The text as the environment has read it; empty where it could not."""
    weight: float = 0.0
    """Mean of what a seat earned."""
    outcome: Mapping[str, float] | None = None
    """Means of the outcomes of its episodes; None where it could not be read."""
    turns: int = 0
    failure: str = ""
    """Why it could not be read."""

    def outcomes(self, names: Sequence[str]) -> tuple[float, ...]:
        """Return the outcomes of these names; raise ConfigError for one that there is not."""
        found = self.outcome or {}
        for name in names:
            if name not in found:
                raise unknown("outcome", name, found)
        return tuple(found[name] for name in names)


def tried(
    template: TextEnv,
    text: str,
    plays: Iterable[tuple[int, Mapping[str, Any]]],
    weights: Mapping[str, float],
) -> Tried:
    """Play episodes in which every reply of every seat is this text.

    Args:
        template: an environment that was never reset.
        text: the reply.
        plays: seed and options of the reset of every episode.
        weights: factors of reward components; 1 where there is none.
    """
    episodes = list[Episode]()
    for seed, options in plays:
        episode = _played(template.fresh(), text, seed, options)
        first = episode.turns[0]
        if first.status is not Status.LEGAL:
            return Tried("", turns=len(episode.turns), failure=episode.note or str(first.status))
        episodes.append(episode)
    return summary(str(episodes[0].turns[0].move), episodes, weights)


def tried_agent(
    template: TextEnv,
    agent: Agent,
    text: str,
    plays: Iterable[tuple[int, Mapping[str, Any]]],
    weights: Mapping[str, float],
) -> Tried:
    """Play episodes in which an agent has every seat; one illegal reply is a failure.

    Args:
        template: an environment that was never reset.
        agent: who plays.
        text: what it is made of.
        plays: seed and options of the reset of every episode.
        weights: factors of reward components; 1 where there is none.
    """
    players = dict.fromkeys(template.possible_agents, agent.name)
    specs = [EpisodeSpec(seed, players, options=options) for seed, options in plays]
    episodes = rollout_of({"": template}, specs, {agent.name: agent})
    count = sum(len(e.turns) for e in episodes)
    for turn in (turn for e in episodes for turn in e.turns):
        if turn.status is not Status.LEGAL:
            why = turn.notes.get("program", "")
            return Tried("", turns=count, failure=f"{turn.status} reply {turn.text!r:.60} ({why})")
    return summary(text, episodes, weights)


def summary(text: str, episodes: Sequence[Episode], weights: Mapping[str, float]) -> Tried:
    """Return what came of a text in episodes; outcomes that one of them lacks are left out."""
    names = [n for n in episodes[0].outcome if all(n in e.outcome for e in episodes)]
    return Tried(
        text,
        fmean(worth(e, seat, weights) for e in episodes for seat in e.agents),
        {name: fmean(e.outcome[name] for e in episodes) for name in names},
        sum(len(e.turns) for e in episodes),
    )


def _played(env: TextEnv, text: str, seed: int, options: Mapping[str, Any]) -> Episode:
    env.reset(seed=seed, options=dict(options))
    while env.awaiting:
        env.step(text)
    return env.episode
