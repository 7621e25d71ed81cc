"""The tables of `tournament.json`: agents, pairs, seats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from coevo.benchmarks.statistics.arrays import Array
from coevo.benchmarks.statistics.bootstrap import Interval, percentiles
from coevo.benchmarks.statistics.cross_play import CrossPlay
from coevo.benchmarks.tournament.episode_log import EpisodeRecord
from coevo.benchmarks.tournament.pairings import Pairing, mean_interval
from coevo.benchmarks.tournament.results import PairResult
from coevo.benchmarks.tournament.schedule import Pair
from coevo.benchmarks.tournament.sentences import turned
from coevo.envs.core.episode import StopReason

Means = Mapping[str, Mapping[str, Interval]]
"""`mean_return` and, in a contest, `points` -> agent -> mean over opponents."""


def bounds(found: Interval) -> list[float]:
    return [found.low, found.point, found.high]


def agent_line(name: str, episodes: Sequence[EpisodeRecord], means: Means) -> dict[str, Any]:
    """Describe one agent: means over opponents, and rates over its episodes."""
    own = [e for e in episodes if name in e.pair]
    done = [e for e in own if not e.failed]
    seats = [(e, s) for e in done for s, agent in e.seats.items() if agent == name]
    won = [e.result[name] for e in done if e.result is not None]
    shares = {key: _rate(won.count(x), len(won)) for key, x in zip(OUTCOMES, POINTS, strict=True)}
    replies = sum(e.replies[s] for e, s in seats)
    return {
        "episodes": len(done),
        "errors": len(own) - len(done),
        **{
            key: bounds(means[key][name]) if name in means.get(key, {}) else None
            for key in ("mean_return", "points")
        },
        **shares,
        "forfeit_rate": _rate(sum(s in e.forfeit for e, s in seats), len(seats)),
        "illegal_rate": _rate(sum(e.illegal[s] for e, s in seats), replies),
        "unread_rate": _rate(sum(e.unread[s] for e, s in seats), replies),
        "near_miss_rate": _rate(sum(e.near_misses[s] for e, s in seats), replies),
        "truncated_rate": _rate(sum(e.stop is StopReason.TURN_LIMIT for e in done), len(done)),
    }


OUTCOMES, POINTS = ("won", "drawn", "lost"), (1.0, 0.5, 0.0)


def _rate(hits: int, of: int) -> float | None:
    return hits / of if of else None


def result_line(found: PairResult) -> dict[str, Any]:
    return {
        "a": found.first,
        "b": found.second,
        "better": found.better,
        "separated": found.separated,
        "tasks": found.tasks,
        "episodes": found.episodes,
        "points": None if found.points is None else bounds(found.points),
        "margin": bounds(found.margin),
        "p": found.p,
        "p_adjusted": found.p_adjusted,
    }


def matrix(
    agents: Sequence[str], pairings: Mapping[Pair, Pairing], found: Sequence[PairResult]
) -> dict[str, Any]:
    """Return row against column in the order of `agents`; None where there is nothing to say."""
    cells = {pair: cell for r in found for pair, cell in _both_sides(r).items()}
    for (one, two), m in pairings.items():
        if one == two and m.tasks:
            cells[one, one] = {"mean_return": bounds(mean_interval(m.per_task(one)))}
    table = {
        key: [[cells.get((a, b), {}).get(key) for b in agents] for a in agents]
        for key in ("points", *OUTCOMES, "mean_return")
    }
    pairs = [[pairings.get((min(a, b), max(a, b))) for b in agents] for a in agents]
    numbers = {
        key: [[0 if m is None else getattr(m, key) for m in row] for row in pairs]
        for key in ("tasks", "played", "failed")
    }
    return {"agents": list(agents), **table, **numbers}


def _both_sides(found: PairResult) -> dict[Pair, dict[str, Any]]:
    points, rates = found.points, found.rates
    other = None if points is None else turned(points, 1.0)
    return {
        (found.first, found.second): _cell(points, rates, found.returns[0]),
        (found.second, found.first): _cell(other, rates and rates[::-1], found.returns[1]),
    }


def _cell(
    points: Interval | None, rates: Sequence[float] | None, returned: Interval
) -> dict[str, Any]:
    return {
        "points": None if points is None else bounds(points),
        **dict(zip(OUTCOMES, rates or (None,) * 3, strict=True)),
        "mean_return": bounds(returned),
    }


def seats(
    names: Sequence[str],
    pairings: Mapping[Pair, Pairing],
    games: CrossPlay | None,
    rng: Generator,
) -> dict[str, Any]:
    """Say what a seat is worth: mean scores by seat, and the points of the first seat.

    Of a contest the games of the agents that could be rated are given, else None.
    """
    paid = [e.payoffs for m in pairings.values() for e in m.episodes]
    returns = {s: float(np.mean([p[s] for p in paid])) if paid else None for s in names}
    if games is None:
        return {"mean_return": returns, "first_seat_points": None}

    def mean(seat_points: Array) -> Array:
        return np.asarray(np.nanmean(seat_points, axis=(-2, -1)))

    low, high = percentiles(mean(games.resampled(rng).seat_points))
    point = float(mean(games.tally().seat_points))
    return {"mean_return": returns, "first_seat_points": [float(low), point, float(high)]}
