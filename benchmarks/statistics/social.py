"""Social outcomes of an episode (Perolat et al. 2017), from rewards [agents, turns] or returns.

Undefined is NaN: code that returns an equality of 1 for returns that sum to nothing hides
disasters. Who was sanctioned, and who took more than what lasts, stands in the notes of the reply
that closed the round: `sanctioned` and `overused`, lists of seats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import Array, finite
from coevo.envs.core.episode import Episode

SANCTIONED, OVERUSED = "sanctioned", "overused"


def efficiency(rewards_NT: ArrayLike) -> float:
    """Return the sum of all returns per turn: sum_i R_i / T."""
    rewards = finite("rewards", rewards_NT, ndim=2)
    return float(rewards.sum() / rewards.shape[1])


def equality(returns_N: ArrayLike) -> float:
    """Return 1 - Gini: 1 - sum_ij |R_i - R_j| / (2 N sum R), between 1/N and 1.

    NaN where a return is negative or all are 0.
    """
    r = finite("returns", returns_N, ndim=1)
    if (r < 0).any() or r.sum() <= 0:
        return math.nan
    return float(1 - np.abs(r[:, None] - r).sum() / (2 * len(r) * r.sum()))


def sustainability(rewards_NT: ArrayLike) -> float:
    """Return the mean over agents of their mean turn (from 1) with a positive reward.

    Agents without any positive reward do not count; NaN if none has one.
    """
    rewards = finite("rewards", rewards_NT, ndim=2)
    times = [np.flatnonzero(r > 0).mean() + 1 for r in rewards if (r > 0).any()]
    return float(np.mean(times)) if times else math.nan


def peace(sanctioned_NT: ArrayLike) -> float:
    """Return the mean number of agents not under a sanction: (N T - agent-turns sanctioned) / T."""
    sanctioned = finite("sanctioned", sanctioned_NT, ndim=2) != 0
    return float((~sanctioned).sum() / sanctioned.shape[1])


def over_usage(overused_NT: ArrayLike) -> float:
    """Return the share of agent-turns that took more than what lasts (Piatti et al. 2024)."""
    return float((finite("overused", overused_NT, ndim=2) != 0).mean())


def social_outcome(episode: Episode) -> dict[str, float]:
    """Return the social outcomes of an episode by name; NaN for what is not defined in it.

    A turn is a round of the task (`Turn.round`). `peace` and `over_usage` exist where the task
    notes who was sanctioned and who took too much.
    """
    if not episode.turns:
        return dict.fromkeys(OUTCOMES, math.nan)
    rewards_NT = np.zeros((len(episode.agents), 1 + max(t.round for t in episode.turns)))
    for turn in episode.turns:
        for seat, paid in turn.rewards.get("payoff", {}).items():
            rewards_NT[episode.agents.index(seat), turn.round] += paid
    sanctioned, overused = _noted(episode, SANCTIONED), _noted(episode, OVERUSED)
    return {
        "efficiency": efficiency(rewards_NT),
        "equality": equality(rewards_NT.sum(axis=1)),
        "sustainability": sustainability(rewards_NT),
        "peace": math.nan if sanctioned is None else peace(sanctioned),
        "over_usage": math.nan if overused is None else over_usage(overused),
    }


OUTCOMES = ("efficiency", "equality", "sustainability", "peace", "over_usage")
"""Names in the order in which they are shown."""


def social_outcomes(episodes: Sequence[Episode]) -> dict[str, dict[str, float | None]]:
    """Return the mean of each outcome over the episodes in which it is defined, and their number.

    None where it is defined nowhere.
    """
    found = [social_outcome(episode) for episode in episodes]
    table: dict[str, dict[str, float | None]] = {}
    for name in OUTCOMES:
        known = [row[name] for row in found if not math.isnan(row[name])]
        mean = float(np.mean(known)) if known else None
        table[name] = {"mean": mean, "defined": len(known)}
    return table


def _noted(episode: Episode, key: str) -> Array | None:
    """Return which agents a note names, [agents, rounds with that note]; None without any."""
    rows = [
        [seat in turn.notes[key] for seat in episode.agents]
        for turn in episode.turns
        if key in turn.notes
    ]
    return np.array(rows, dtype=float).T if rows else None
