"""Ratings of the same games by several measures, each with its uncertainty.

    Bradley-Terry    one number per agent on the scale of Elo; `residual` says what it misses
    Plackett-Luce    the belief of OpenSkill after all games in one random order
    alpha-Rank       share of time at each agent; sweep over alpha, and the limit
    Nash averaging   who survives in equilibrium; copies of an agent change nothing

The first two and Nash averaging are for contests. alpha-Rank takes mean scores: where episodes are
no contest, of a game with two roles (first seat, other seats), each with its own strategies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from openskill.models import PlackettLuce, PlackettLuceRating

from coevo.benchmarks.statistics.alpha_rank import alpha_rank_limit, sweep
from coevo.benchmarks.statistics.arrays import Array
from coevo.benchmarks.statistics.bootstrap import Interval, percentiles
from coevo.benchmarks.statistics.bradley_terry import (
    SMOOTHING,
    bradley_terry,
    rating_intervals,
    residual,
)
from coevo.benchmarks.statistics.cross_play import CrossPlay, Tally
from coevo.benchmarks.statistics.nash_averaging import log_odds, nash_average
from coevo.benchmarks.statistics.standard_errors import z_value
from coevo.benchmarks.tournament.cycles import groups
from coevo.envs.core.errors import CoevoError

RESAMPLES = 200
"""Resampled tournaments behind the intervals of alpha-Rank."""
EQUILIBRIA = 100
"""The same for the skills of Nash averaging, which take longer."""
SHOWN_EVERY = 3
"""Of the alphas of the sweep, every third is reported: each is then eight times the one before."""


def elo(games: CrossPlay, rng: Generator) -> dict[str, Any]:
    """Rate by Bradley-Terry on the scale of Elo, the lowest agent at 0.

    Where no chain of wins leads from every agent to every other, the distance between the parts is
    set by the smoothing alone; `apart` lists the parts then.
    """
    wins = games.tally().wins
    found = rating_intervals(games, rng)
    beaten = {
        name: [other for j, other in enumerate(games.agents) if wins[i, j] > 0]
        for i, name in enumerate(games.agents)
    }
    parts = groups(beaten)
    return {
        "smoothing": SMOOTHING,
        "residual": residual(wins, bradley_terry(wins)),
        "apart": parts if len(parts) > 1 else [],
        "agents": {
            name: {"rating": i.point, "interval": [i.low, i.high], "games": i.runs}
            for name, i in zip(games.agents, found, strict=True)
        },
    }


def plackett_luce(games: CrossPlay, rng: Generator) -> dict[str, Any]:
    """Rate as OpenSkill does, game by game in one random order; listed by mu - 3 sigma."""
    model = PlackettLuce()
    ratings = {name: model.rating() for name in games.agents}
    for at in rng.permutation(len(games.games)):
        game = games.games[at]
        pair = [[ratings[game.first]], [ratings[game.second]]]
        (first,), (second,) = model.rate(pair, ranks=[1 - game.points, game.points])
        ratings[game.first], ratings[game.second] = first, second
    played = dict(zip(games.agents, games.games_of_each(), strict=True))
    return {"agents": {name: _belief(ratings[name], played[name]) for name in games.agents}}


def _belief(rating: PlackettLuceRating, games: int) -> dict[str, Any]:
    width = z_value(0.95) * rating.sigma
    return {
        "mu": rating.mu,
        "sigma": rating.sigma,
        "ordinal": rating.ordinal(),
        "interval": [rating.mu - width, rating.mu + width],
        "games": games,
    }


def alpha_rank(games: CrossPlay, contest: bool, rng: Generator) -> dict[str, Any]:
    """Return the shares of alpha-Rank over growing alpha, at the last stable one and in the limit.

    Payoffs are scaled to a range of 1, so that alpha means the same everywhere.
    """
    names = list(games.agents)
    game = _payoff_tables(games.tally(), contest)
    swept = sweep(game)
    shown = [*range(0, len(swept.alphas) - 1, SHOWN_EVERY), len(swept.alphas) - 1]
    limit = _shares(alpha_rank_limit(game), len(names))
    low, high = percentiles(_resampled_limits(games, contest, rng))
    return {
        "roles": len(game),
        "settled": swept.settled,
        "sweep": [
            {
                "alpha": float(swept.alphas[i]),
                "shares": _named(names, _shares(swept.shares[i], len(names))),
            }
            for i in shown
        ],
        "last": {
            "alpha": float(swept.alphas[-1]),
            "shares": _named(names, _shares(swept.shares[-1], len(names))),
        },
        "limit": {
            name: {"share": float(limit[i]), "interval": [float(low[i]), float(high[i])]}
            for i, name in enumerate(names)
        },
    }


def _payoff_tables(tally: Tally, contest: bool) -> list[Array]:
    return [without_diagonal(tally.payoff)] if contest else list(tally.role_payoffs)


def without_diagonal(payoffs: Array) -> Array:
    """Return payoffs whose diagonal, which nothing reads, is the mean of the other entries."""
    own = np.eye(payoffs.shape[-1], dtype=bool)
    others = np.where(own, 0.0, payoffs).sum((-2, -1)) / (~own).sum()
    return np.where(own, others[..., None, None], payoffs)


def _shares(shares: Array, agents: int) -> Array:
    """Return the share of agents: with two roles, the mean of their shares in each."""
    if len(shares) == agents:
        return shares
    of_profiles = shares.reshape(agents, agents)
    return np.asarray((of_profiles.sum(1) + of_profiles.sum(0)) / 2)


def _resampled_limits(games: CrossPlay, contest: bool, rng: Generator) -> Array:
    """Return the shares in the limit of resampled tournaments: [RESAMPLES, agents].

    Tournaments in which all do better than the same others have the same limit, which is
    computed once.
    """
    tables = _payoff_tables(games.resampled(rng, RESAMPLES), contest)
    known: dict[bytes, Array] = {}
    found = []
    for drawn in zip(*tables, strict=True):
        key = b"".join(_directions(table, role, contest) for role, table in enumerate(drawn))
        if key not in known:
            known[key] = _shares(alpha_rank_limit(drawn), len(games.agents))
        found.append(known[key])
    return np.stack(found)


def _directions(table: Array, role: int, contest: bool) -> bytes:
    """Return which of two strategies of a role does better, against everything."""
    if contest:
        return np.sign(table - table.T).tobytes()
    rows = np.moveaxis(table, role, 0)
    return np.sign(rows[:, None] - rows[None]).tobytes()


def nash(games: CrossPlay, rng: Generator) -> dict[str, Any]:
    """Average over the equilibrium of two matrices: log-odds of points, and margins in score.

    The skills of the second have intervals; each costs a small program per agent and resample.
    """
    tally = games.tally()
    drawn = margins(games.resampled(rng, EQUILIBRIA))
    return {
        "log_odds": _equilibrium(games, log_odds(tally.win_rate)),
        "margin": _equilibrium(games, margins(tally), _skill_bounds(drawn)),
    }


def margins(tally: Tally) -> Array:
    """Return half of what the row scores more than the column; antisymmetric, 0 on the diagonal."""
    payoff = without_diagonal(tally.payoff)
    return (payoff - np.swapaxes(payoff, -1, -2)) / 2


def _skill_bounds(matrices: Array) -> list[list[float]] | None:
    skills = []
    for matrix in matrices:
        try:
            skills.append(nash_average(matrix).skill)
        except CoevoError:  # a degenerate sample whose equilibrium is not found says nothing
            continue
    return np.stack(percentiles(np.stack(skills)), axis=1).tolist() if skills else None


def _equilibrium(
    games: CrossPlay, matrix: Array, intervals: list[list[float]] | None = None
) -> dict[str, Any]:
    average = nash_average(matrix)
    return {
        name: {
            "weight": float(average.weights[i]),
            "skill": float(average.skill[i]),
            "interval": None if intervals is None else intervals[i],
        }
        for i, name in enumerate(games.agents)
    }


def means(games: CrossPlay, rng: Generator, of: str) -> list[Interval]:
    """Return every agent's mean over opponents, each weighing the same."""

    def statistic(tally: Tally) -> Array:
        table: Array = getattr(tally, of)
        others = ~np.eye(table.shape[-1], dtype=bool)
        return np.asarray(np.where(others, table, 0.0).sum(-1) / (table.shape[-1] - 1))

    return games.interval(statistic, rng)


def _named(names: list[str], values: Array) -> dict[str, float]:
    return dict(zip(names, map(float, values), strict=True))
