"""The tables of `tournament.json`: agents, pairs, seats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from coevo.benchmarks.statistics.arrays import Array
from coevo.benchmarks.statistics.bootstrap import Interval, percentiles
from coevo.benchmarks.statistics.cross_play import CrossPlay
from coevo.benchmarks.tournament.meetings import Meeting, mean_interval
from coevo.benchmarks.tournament.plays import Play
from coevo.benchmarks.tournament.results import Result
from coevo.benchmarks.tournament.schedule import Pair
from coevo.benchmarks.tournament.verdicts import turned
from coevo.envs.core.episode import Stop

Means = Mapping[str, Mapping[str, Interval]]
"""`mean_return` and, in a contest, `points` -> agent -> mean over opponents."""


def bounds(found: Interval) -> list[float]:
    """Give [low, estimate, high].

    >>> bounds(Interval(0.1, 0.2, 0.3, 10))
    [0.1, 0.2, 0.3]
    """
    return [found.low, found.point, found.high]


def agent_line(name: str, plays: Sequence[Play], means: Means) -> dict[str, Any]:
    """Describe one agent: means over opponents, and rates over its plays.

    Args:
        name: of the agent.
        plays: of the tournament.
        means: of those who could be rated.
    """
    own = [p for p in plays if name in p.pair]
    done = [p for p in own if not p.failed]
    seats = [(p, s) for p in done for s, agent in p.seats.items() if agent == name]
    won = [p.result[name] for p in done if p.result is not None]
    shares = {key: _rate(won.count(x), len(won)) for key, x in zip(OUTCOMES, POINTS, strict=True)}
    replies = sum(p.replies[s] for p, s in seats)
    return {
        "plays": len(done),
        "errors": len(own) - len(done),
        **{
            key: bounds(means[key][name]) if name in means.get(key, {}) else None
            for key in ("mean_return", "points")
        },
        **shares,
        "forfeit_rate": _rate(sum(s in p.forfeit for p, s in seats), len(seats)),
        "illegal_rate": _rate(sum(p.illegal[s] for p, s in seats), replies),
        "truncated_rate": _rate(sum(p.stop is Stop.TURN_LIMIT for p in done), len(done)),
    }


OUTCOMES, POINTS = ("won", "drawn", "lost"), (1.0, 0.5, 0.0)


def _rate(hits: int, of: int) -> float | None:
    return hits / of if of else None


def verdict_line(found: Result) -> dict[str, Any]:
    """Describe what was found out about a pair."""
    return {
        "a": found.first,
        "b": found.second,
        "better": found.better,
        "separated": found.separated,
        "deals": found.deals,
        "plays": found.plays,
        "points": None if found.points is None else bounds(found.points),
        "lead": bounds(found.lead),
        "p": found.p,
        "p_adjusted": found.p_adjusted,
    }


def matrix(
    agents: Sequence[str], met: Mapping[Pair, Meeting], found: Sequence[Result]
) -> dict[str, Any]:
    """Give row against column in the order of `agents`; None where there is nothing to say."""
    cells = {pair: cell for r in found for pair, cell in _both_sides(r).items()}
    for (one, two), m in met.items():
        if one == two and m.deals:
            cells[one, one] = {"mean_return": bounds(mean_interval(m.per_deal(one)))}
    table = {
        key: [[cells.get((a, b), {}).get(key) for b in agents] for a in agents]
        for key in ("points", *OUTCOMES, "mean_return")
    }
    pairs = [[met.get((min(a, b), max(a, b))) for b in agents] for a in agents]
    numbers = {
        key: [[0 if m is None else getattr(m, key) for m in row] for row in pairs]
        for key in ("deals", "played", "failed")
    }
    return {"agents": list(agents), **table, **numbers}


def _both_sides(found: Result) -> dict[Pair, dict[str, Any]]:
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
    met: Mapping[Pair, Meeting],
    games: CrossPlay | None,
    rng: Generator,
) -> dict[str, Any]:
    """Say what a seat is worth: mean scores by seat, and the points of the first seat.

    Args:
        names: of the seats.
        met: what happened.
        games: of a contest, with the agents that could be rated; None elsewhere.
        rng: of resamples.
    """
    plays = [p for m in met.values() for p in m.plays]
    returns = {s: float(np.mean([p.payoffs[s] for p in plays])) if plays else None for s in names}
    if games is None:
        return {"mean_return": returns, "first_seat_points": None}

    def mean(seat_points: Array) -> Array:
        return np.asarray(np.nanmean(seat_points, axis=(-2, -1)))

    low, high = percentiles(mean(games.resampled(rng).seat_points))
    point = games.tally().seat_advantage + 0.5
    return {"mean_return": returns, "first_seat_points": [float(low), point, float(high)]}


def plain(value: Any) -> Any:
    """Turn undefined numbers into None, which JSON can say, and numpy's into Python's.

    >>> plain({"a": (float("nan"), np.float64(1.5))})
    {'a': [None, 1.5]}
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value
