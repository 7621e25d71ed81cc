"""Texts that are tried as replies: what an environment pays for one, and how it behaves there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import unknown
from coevo.envs.core.parsing import Status
from coevo.trainers.collect.metrics import worth


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

    def descriptor(self, names: Sequence[str]) -> tuple[float, ...]:
        """Return the outcomes of these names; raise ConfigError for one that there is not."""
        found = self.outcome or {}
        for name in names:
            if name not in found:
                raise unknown("descriptor", name, found)
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
    episodes = []
    for seed, options in plays:
        episode = _played(template.fresh(), text, seed, options)
        first = episode.turns[0]
        if first.status is not Status.LEGAL:
            return Tried("", turns=len(episode.turns), failure=episode.note or str(first.status))
        episodes.append(episode)
    return Tried(
        str(episodes[0].turns[0].move),
        fmean(worth(e, seat, weights) for e in episodes for seat in e.agents),
        {name: fmean(e.outcome[name] for e in episodes) for name in episodes[0].outcome},
        sum(len(e.turns) for e in episodes),
    )


def _played(env: TextEnv, text: str, seed: int, options: Mapping[str, Any]) -> Episode:
    env.reset(seed=seed, options=dict(options))
    while env.awaiting:
        env.step(text)
    return env.episode
