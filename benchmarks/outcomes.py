"""The outcome of a finished episode for each seat.

The score of a seat is its `payoff`. If the episode ended in a forfeit, what the illegal-move policy
paid is added and the sum is clipped to the payoff range, and whoever forfeited has lost whatever
the scores say; where every seat did, it is a draw. Shaping never counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from coevo.benchmarks.statistics.normalise import SOLVED
from coevo.envs import spec
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, StopReason

EQUAL = 1e-9
"""Scores that differ by no more are a draw: sums of floats differ in the last place."""


@dataclass(frozen=True, slots=True)
class SeatOutcome:
    """One seat of one episode."""

    task: int
    """Equal for episodes of one start state."""
    seat: str
    score: float
    """Payoff, or what a forfeit counts for."""
    result: int
    forfeited: bool
    """Whether this seat ended the episode by an illegal reply."""
    replies: int
    illegal: int
    """How many of the replies were not legal moves."""
    unread: int = 0
    """Of how many of them nothing was read: no move, answer or verdict."""
    near_misses: int = 0
    """How many came close to a legal move and were not read."""


def outcomes(
    env: TextEnv, episode: Episode, task: int, players: Mapping[str, str], player: str
) -> Iterator[SeatOutcome]:
    scores = {s: seat_score(env, episode, s) for s in episode.agents}
    out, unread, near = episode.offenders, episode.unread_replies(), episode.near_misses()
    for seat in (s for s, name in players.items() if name == player):
        rivals = [v for s, v in scores.items() if s not in (seat, *out)]
        margin = scores[seat] - max(rivals, default=-math.inf)
        result = int(np.sign(margin) * (abs(margin) > EQUAL))
        if seat in out:
            result = 0 if len(out) == len(scores) > 1 else -1
        yield SeatOutcome(
            task=task,
            seat=seat,
            score=scores[seat],
            result=result,
            forfeited=seat in out,
            replies=sum(t.agent == seat for t in episode.turns),
            illegal=episode.illegal_replies(seat),
            unread=unread[seat],
            near_misses=near[seat],
        )


def seat_score(env: TextEnv, episode: Episode, seat: str) -> float:
    """Return what an episode counts for one seat."""
    payoff = episode.total(seat, "payoff")
    if episode.stop is not StopReason.FORFEIT:
        return payoff
    return float(np.clip(payoff + episode.total(seat, "illegal"), *env.payoff_range))


def is_contest(env: TextEnv) -> bool:
    """Return whether a higher score than the others' is a win."""
    return env.zero_sum or spec(env.env_id).kind == "competitive"


def is_solved(env: TextEnv, episode: Episode, seat: str, players: Mapping[str, str]) -> bool:
    """Return whether an episode counts as a success of the player `agent`.

    `seat` is where the agent sat; empty for every seat.
    """
    if "success" in episode.outcome:
        return episode.outcome["success"] >= SOLVED
    own = list(outcomes(env, episode, 0, players, "agent"))
    if is_contest(env):
        return all(o.result == 1 for o in own if o.seat == seat)
    return all(o.score >= SOLVED * env.payoff_range[1] for o in own)
