"""Playing a scenario: focal, background and collective return."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from coevo.agents.agent import Agent
from coevo.agents.load import load_agent
from coevo.benchmarks.measurement import Measurement, mean_and_interval, of_outcomes
from coevo.benchmarks.outcomes import outcomes, seat_score
from coevo.benchmarks.rollouts import play
from coevo.benchmarks.suites.scenarios import Scenario
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError
from coevo.trainers.collect.rollout import EpisodeSpec

FOCAL = "focal"


def play_scenario(
    agent: Agent,
    where: Scenario,
    *,
    episodes: int | None = None,
    seed: int = 0,
    load: Callable[[str], Agent] = load_agent,
    env_options: Mapping[str, Any] | None = None,
) -> Measurement:
    """Measure an agent in unfamiliar company.

    Arguments of the scenario win over `env_options`. The value is the mean payoff per focal seat.
    `details` holds scenario and mode; background, the mean payoff per background seat; collective,
    the mean sum of all payoffs; gap, focal minus background, large for those who live off a kind
    company; by_company, the focal return with each set of background agents, named in seat order.
    """
    number = where.episodes if episodes is None else episodes
    if number < 1:
        raise ConfigError(f"episodes={number} must be at least 1")
    options = {**(env_options or {}), **where.env_options}
    specs = list(itertools.islice(_specs(where, seed), number))
    names = {p for s in specs for p in s.players.values()} - {FOCAL}
    players = {name: load(name).reseeded(seed) for name in sorted(names)}
    played = play(
        where.env_id, specs, {FOCAL: agent.reseeded(seed), **players}, options, measured=FOCAL
    )
    env, finished = make(where.env_id, **options), played.finished
    views = [_view(env, s, e) for s, e in finished]
    value, interval = mean_and_interval([v.focal for v in views])
    found = [o for s, e in finished for o in outcomes(env, e, s.seed, s.players, FOCAL)]
    return replace(
        of_outcomes(found, contest=False),
        env=where.env_id,
        agent=agent.name,
        opponent="background",
        value=value,
        interval=interval,
        episodes=len(finished),
        errors=number - len(finished),
        forfeit_rate=sum(v.forfeited for v in views) / len(views),
        task_scores=(),
        sampling=dict(agent.sampling_settings),
        usage=played.usage,
        details={"scenario": where.name, "mode": where.mode, **_company(value, views)},
    ).scaled(where.refs, where.refs_source)


def _specs(where: Scenario, seed: int) -> Iterator[EpisodeSpec]:
    """Yield episodes without end: another start and another company each, focal seats in turn."""
    rng = np.random.default_rng([seed, 3])
    for focal in itertools.cycle(where.focal_sets()):
        start = int(rng.integers(2**31))
        players = dict.fromkeys(where.seats, FOCAL)
        for seat in (s for s in where.seats if s not in focal):
            company = where.company(seat)
            players[seat] = company[int(rng.integers(len(company)))]
        yield EpisodeSpec(start, players)


class _View(NamedTuple):
    """What one episode came to."""

    focal: float
    background: float
    collective: float
    company: str
    forfeited: bool
    """Whether a focal seat ended it."""


def _view(env: TextEnv, spec: EpisodeSpec, episode: Episode) -> _View:
    scores = {s: seat_score(env, episode, s) for s in episode.agents}
    company = {s: name for s, name in spec.players.items() if name != FOCAL}
    return _View(
        float(np.mean([v for s, v in scores.items() if s not in company])),
        float(np.mean([scores[s] for s in company])),
        float(sum(scores.values())),
        ", ".join(company.values()),
        any(s not in company for s in episode.offenders),
    )


def _company(focal: float, views: list[_View]) -> dict[str, Any]:
    background = float(np.mean([v.background for v in views]))
    names = sorted({v.company for v in views})
    return {
        "background": background,
        "collective": float(np.mean([v.collective for v in views])),
        "gap": focal - background,
        "by_company": {
            name: float(np.mean([v.focal for v in views if v.company == name])) for name in names
        },
    }
