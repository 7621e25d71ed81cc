"""What a suite is about to take, foreseen from one episode of random play in every environment."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from coevo.agents.agent import Agent
from coevo.agents.scripted import RandomAgent
from coevo.benchmarks.metrics import Metric
from coevo.benchmarks.rollouts import play, task_seeds
from coevo.benchmarks.suites.suite import Settings, chosen_metric
from coevo.envs import make
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import CoevoError
from coevo.trainers.collect.rollout import EpisodeSpec

LETTERS = 4
"""Characters that a token of English text holds, about."""


@dataclass(frozen=True)
class Cost:
    """What an agent is about to play, where it takes as many turns as random play does."""

    episodes: int = 0
    replies: int = 0
    read: int = 0
    """Tokens of its prompts, about; each prompt counts whole."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.episodes + other.episodes, self.replies + other.replies, self.read + other.read
        )

    def written(self, longest: int) -> int:
        """Return the most tokens that it may write, at a longest reply."""
        return self.replies * longest


class Pace(NamedTuple):
    """What one episode took, which was played to be timed."""

    env: str
    seconds: float
    read: int
    """As `Cost.read` foresees it."""

    def left(self, cost: Cost) -> float:
        """Return the seconds that more of the same take."""
        return self.seconds / max(self.read, 1) * cost.read


def foresee(agent: Agent, env_ids: Iterable[str], settings: Settings) -> dict[str, Cost]:
    """Return what each environment costs; nothing where an agent cannot be measured."""
    found = {}
    for env_id in env_ids:
        try:
            found[env_id] = _cost(chosen_metric(agent, env_id, settings), settings)
        except CoevoError:  # the measurement says why
            found[env_id] = Cost()
    return found


def timed(agent: Agent, costs: Mapping[str, Cost], settings: Settings) -> Pace | None:
    """Play one episode where that is cheapest, and time it; None where nothing is to be played."""
    paid = {e: c.read / c.episodes for e, c in costs.items() if c.replies}
    if not paid:
        return None
    env_id = min(paid, key=lambda e: paid[e])
    env = make(env_id, **settings.env_options)
    spec = EpisodeSpec(settings.seed, dict.fromkeys(env.possible_agents, "agent"))
    ready, began = agent.reseeded(settings.seed), time.monotonic()
    (episode,) = play(env_id, [spec], {"agent": ready}, settings.env_options).episodes
    read = _read(episode)
    return Pace(env_id, time.monotonic() - began, read)


def _cost(metric: Metric, settings: Settings) -> Cost:
    env = make(metric.env_id, **metric.env_options)
    seats = env.possible_agents
    shared = metric.opponent is not None
    spec = EpisodeSpec(task_seeds(1, settings.seed)[0], dict.fromkeys(seats, "agent"))
    (episode,) = play(metric.env_id, [spec], {"agent": RandomAgent()}, metric.env_options).episodes
    turns = len(episode.turns) / (len(seats) if shared else 1)
    games = math.ceil(settings.games / len(seats)) * len(seats) if shared else settings.games
    games *= 2 if settings.samples else 1
    return Cost(
        games,
        math.ceil(games * turns),
        math.ceil(games * _read(episode) * turns / len(episode.turns)),
    )


def _read(episode: Episode) -> int:
    return sum(len(m["content"]) for turn in episode.turns for m in turn.chat) // LETTERS
