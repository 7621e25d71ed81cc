"""What a suite is about to take, foreseen from one episode of random play in every environment."""

from __future__ import annotations

import itertools
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
from coevo.envs.core.chat import Chat
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import CoevoError
from coevo.trainers.collect.rollout import EpisodeSpec

LETTERS = 4
"""Characters that a token of English text holds, about."""


REPLY = 30
"""Tokens of a reply, about: what it takes beside its prompt."""


@dataclass(frozen=True)
class Cost:
    """What an agent is about to play, where it takes as many turns as random play does."""

    episodes: int = 0
    replies: int = 0
    read: int = 0
    """Tokens of its prompts, about; each prompt counts whole."""
    fresh: int = 0
    """Those of them that stand in no earlier prompt of the seat, so that they must be computed."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(**{name: mine + getattr(other, name) for name, mine in vars(self).items()})

    @property
    def work(self) -> int:
        """Return what takes its time, in tokens."""
        return self.fresh + REPLY * self.replies

    def written(self, longest: int) -> int:
        """Return the most tokens that it may write, at a longest reply."""
        return self.replies * longest


class Pace(NamedTuple):
    """What one episode took, which was played to be timed."""

    env: str
    seconds: float
    work: int
    """As `Cost.work` foresees it."""

    def left(self, cost: Cost) -> float:
        """Return the seconds that more of the same take."""
        return self.seconds / max(self.work, 1) * cost.work


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
    paid = {e: c.work / c.episodes for e, c in costs.items() if c.replies}
    if not paid:
        return None
    env_id = min(paid, key=lambda e: paid[e])
    env = make(env_id, **settings.env_options)
    spec = EpisodeSpec(settings.seed, dict.fromkeys(env.possible_agents, "agent"))
    ready, began = agent.reseeded(settings.seed), time.monotonic()
    (episode,) = play(env_id, [spec], {"agent": ready}, settings.env_options).episodes
    return Pace(env_id, time.monotonic() - began, _seen(episode).work)


def _cost(metric: Metric, settings: Settings) -> Cost:
    env = make(metric.env_id, **metric.env_options)
    seats, options = env.possible_agents, metric.env_options
    shared = 1 if metric.opponent is None else len(seats)
    spec = EpisodeSpec(task_seeds(1, settings.seed)[0], dict.fromkeys(seats, "agent"))
    (episode,) = play(metric.env_id, [spec], {"agent": RandomAgent()}, options).episodes
    games = math.ceil(settings.games / shared) * shared * (2 if settings.samples else 1)
    seen = _seen(episode)
    parts = {name: math.ceil(games * x / shared) for name, x in vars(seen).items()}
    return Cost(**{**parts, "episodes": games})


def _seen(episode: Episode) -> Cost:
    """Return what the seats of an episode read and said."""
    read = fresh = 0
    before: dict[str, Chat] = {}
    for turn in episode.turns:
        sizes = [len(m["content"]) for m in turn.chat]
        pairs = zip(before.get(turn.agent, ()), turn.chat, strict=False)
        known = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        read, fresh = read + sum(sizes), fresh + sum(sizes[known:])
        before[turn.agent] = turn.chat
    return Cost(1, len(episode.turns), read // LETTERS, fresh // LETTERS)
