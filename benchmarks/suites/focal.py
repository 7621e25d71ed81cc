"""Playing a scenario: focal, background and collective return."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from coevo.agents.agent import Agent
from coevo.benchmarks.evaluate import AT_ONCE, repeatable
from coevo.benchmarks.repeats import plain
from coevo.benchmarks.scores import seat_score
from coevo.benchmarks.spending import Spending, spending, used
from coevo.benchmarks.statistics.errors import suite_score
from coevo.benchmarks.statistics.normalise import References, normalise
from coevo.benchmarks.statistics.social import exploitation_gap
from coevo.benchmarks.suites.measure import sampling_of
from coevo.benchmarks.suites.players import Load, scripted
from coevo.benchmarks.suites.scenarios import Scenario
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, Stop
from coevo.envs.core.errors import ConfigError
from coevo.trainers.rollout import Match, play

FOCAL = "focal"
"""Name of the measured agent in the plays."""


@dataclass(frozen=True, kw_only=True)
class FocalResult:
    """One agent in one scenario. Only plain JSON values."""

    scenario: str
    """Name."""
    env: str
    """Environment id."""
    mode: str
    """resident or visitor."""
    plays: int
    """Plays that counted."""
    errors: int
    """Plays left out because somebody could not answer."""
    focal: float
    """Mean payoff per focal seat."""
    interval: list[float] | None
    """Its 95 % interval over plays; None under two."""
    background: float
    """Mean payoff per background seat."""
    collective: float
    """Mean sum of all payoffs."""
    gap: float
    """Focal minus background: large for those who live off a kind company."""
    normalised: float | None
    """Focal return between the scenario's references; None without any."""
    normalised_interval: list[float] | None
    """The same for the interval."""
    by_company: dict[str, float]
    """Background players of a play, in seat order -> focal return per head."""
    forfeit_rate: float
    """Share of plays that a focal seat forfeited."""
    sampling: dict[str, Any] = field(default_factory=dict)
    """Temperature and max_new_tokens."""
    spending: dict[str, Any] = field(default_factory=lambda: asdict(Spending()))
    """Tokens, requests, cost of the focal agent."""


def play_scenario(
    agent: Agent,
    where: Scenario,
    *,
    episodes: int | None = None,
    seed: int = 0,
    load: Load = scripted,
    env_options: Mapping[str, Any] | None = None,
) -> FocalResult:
    """Measure an agent in unfamiliar company.

    Args:
        agent: has the focal seats.
        where: the scenario.
        episodes: plays; None takes the scenario's number.
        seed: of starts, company and sampling.
        load: makes the background players from their names.
        env_options: further arguments of the environment, such as the prompt style; those of the
            scenario win.
    """
    number = where.episodes if episodes is None else episodes
    if number < 1:
        raise ConfigError(f"episodes={number} must be at least 1")
    options = {**(env_options or {}), **where.env_options}
    matches = list(itertools.islice(_matches(where, seed), number))
    names = {p for m in matches for p in m.players.values()} - {FOCAL}
    ready = repeatable(agent, seed)
    players = {FOCAL: ready, **{name: repeatable(load(name), seed) for name in sorted(names)}}
    before = used(ready)
    found = [
        episode
        for start in range(0, number, AT_ONCE)
        for episode in play(where.env_id, matches[start : start + AT_ONCE], players, options)
    ]
    spent = spending(found, FOCAL, before, used(ready))
    return _summary(agent, where, matches, found, options, spent)


def _matches(where: Scenario, seed: int) -> Iterator[Match]:
    """Yield plays without end: another start and another company each, focal seats in turn."""
    rng = np.random.default_rng([seed, 3])
    for focal in itertools.cycle(where.focal_sets()):
        start = int(rng.integers(2**31))
        players = dict.fromkeys(where.seats, FOCAL)
        for seat in (s for s in where.seats if s not in focal):
            company = where.company(seat)
            players[seat] = company[int(rng.integers(len(company)))]
        yield Match(start, players)


def _summary(
    agent: Agent,
    where: Scenario,
    matches: Sequence[Match],
    episodes: Sequence[Episode],
    options: Mapping[str, Any],
    spent: Spending,
) -> FocalResult:
    env = make(where.env_id, **options)
    played = [(m, e) for m, e in zip(matches, episodes, strict=True) if e.stop is not Stop.ERROR]
    if not played:
        raise ConfigError(f"none of {len(episodes)} plays could be finished: {episodes[0].note}")
    views = [_view(env, m, e) for m, e in played]
    mean = plain(suite_score([v.focal for v in views]))
    background = float(np.mean([v.background for v in views]))
    return FocalResult(
        scenario=where.name,
        env=where.env_id,
        mode=where.mode,
        plays=len(played),
        errors=len(episodes) - len(played),
        focal=mean["value"],
        interval=mean["interval"],
        background=background,
        collective=float(np.mean([v.collective for v in views])),
        gap=exploitation_gap(mean["value"], background),
        **_normalised(where.refs, mean["value"], mean["interval"]),
        by_company=_by_company(views),
        forfeit_rate=sum(v.forfeited for v in views) / len(views),
        sampling=sampling_of(agent),
        spending=asdict(spent),
    )


class _View(NamedTuple):
    """What one play came to."""

    focal: float
    background: float
    collective: float
    company: str
    forfeited: bool


def _view(env: TextEnv, match: Match, episode: Episode) -> _View:
    scores = {s: seat_score(env, episode, s) for s in episode.agents}
    company = {s: name for s, name in match.players.items() if name != FOCAL}
    return _View(
        float(np.mean([v for s, v in scores.items() if s not in company])),
        float(np.mean([scores[s] for s in company])),
        float(sum(scores.values())),
        ", ".join(company.values()),
        any(s not in company for s in episode.offenders),
    )


def _by_company(views: Sequence[_View]) -> dict[str, float]:
    names = sorted({v.company for v in views})
    return {n: float(np.mean([v.focal for v in views if v.company == n])) for n in names}


def _normalised(
    refs: References | None, value: float, interval: list[float] | None
) -> dict[str, Any]:
    if refs is None:
        return {"normalised": None, "normalised_interval": None}
    bounds = None if interval is None else normalise(interval, *refs).tolist()
    return {"normalised": float(normalise([value], *refs)[0]), "normalised_interval": bounds}
