"""From finished plays to the scores of one agent.

The score of a seat is its `payoff`. If the play ended in a forfeit, what the illegal-move policy
paid is added and the sum is clipped to the payoff range, and whoever forfeited has lost whatever
the scores say; where every seat did, it is a draw. Shaping never counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coevo.benchmarks.statistics.errors import suite_score
from coevo.envs import spec
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, Stop

EQUAL = 1e-9
"""Scores that differ by no more are a draw: sums of floats differ in the last place."""


@dataclass(frozen=True)
class Score:
    """Results of one agent, over all its seats or in one of them."""

    plays: int
    """Plays that counted; in self-play each counts once per seat."""
    mean_return: float
    """Mean score."""
    interval: tuple[float, float] | None
    """95 % interval of the mean: Student's t, clustered by deal; None under two deals."""
    win_rate: float | None
    """Share of plays with the single highest score; None where a play is not a contest."""
    draw_rate: float | None
    """Share of plays with a shared highest score."""
    loss_rate: float | None
    """Share of plays in which another seat scored more."""
    forfeit_rate: float
    """Share of plays that this agent forfeited."""
    illegal_rate: float
    """Share of this agent's replies that were not legal moves."""

    @property
    def points(self) -> float | None:
        """Win rate with draws counted half, so that equals score 0.5."""
        if self.win_rate is None or self.draw_rate is None:
            return None
        return self.win_rate + self.draw_rate / 2


@dataclass(frozen=True, slots=True)
class Row:
    """One seat of one play."""

    deal: int
    """Equal for plays of one start state."""
    seat: str
    """Name of the seat."""
    score: float
    """Payoff, or what a forfeit counts for."""
    result: int
    """1 win, 0 draw, -1 loss."""
    forfeited: bool
    """Whether this seat ended the play by an illegal reply."""
    replies: int
    """Number of its replies."""
    illegal: int
    """How many of them were not legal moves."""


def rows_of(
    env: TextEnv, episode: Episode, deal: int, players: Mapping[str, str], player: str
) -> Iterator[Row]:
    """Give one row for each seat that a player has in an episode.

    Args:
        env: an environment with the arguments that the episode was played with.
        episode: a finished play.
        deal: equal for plays of one start state.
        players: seat -> player name.
        player: whose rows.
    """
    scores = {s: seat_score(env, episode, s) for s in episode.agents}
    out = episode.offenders
    for seat in (s for s, name in players.items() if name == player):
        rivals = [v for s, v in scores.items() if s not in (seat, *out)]
        best = max(rivals, default=-math.inf)
        lead = scores[seat] - best
        result = int(np.sign(lead) * (abs(lead) > EQUAL))
        if seat in out:
            result = 0 if len(out) == len(scores) > 1 else -1
        replies = sum(t.agent == seat for t in episode.turns)
        illegal = episode.illegal_replies(seat)
        yield Row(deal, seat, scores[seat], result, seat in out, replies, illegal)


def seat_score(env: TextEnv, episode: Episode, seat: str) -> float:
    """Give what a play counts for one seat."""
    payoff = episode.total(seat, "payoff")
    if episode.stop is not Stop.FORFEIT:
        return payoff
    return float(np.clip(payoff + episode.total(seat, "illegal"), *env.payoff_range))


def score(rows: Sequence[Row], contest: bool) -> Score:
    """Summarise rows; without a contest there are no wins."""
    scores = [r.score for r in rows]
    found = suite_score(scores, [r.deal for r in rows]).interval
    rates = [sum(r.result == wanted for r in rows) / len(rows) for wanted in (1, 0, -1)]
    win, draw, loss = rates if contest else (None, None, None)
    return Score(
        plays=len(rows),
        mean_return=found.point,
        interval=None if math.isnan(found.low) else (found.low, found.high),
        win_rate=win,
        draw_rate=draw,
        loss_rate=loss,
        forfeit_rate=sum(r.forfeited for r in rows) / len(rows),
        illegal_rate=sum(r.illegal for r in rows) / max(sum(r.replies for r in rows), 1),
    )


def deal_means(rows: Sequence[Row]) -> list[float]:
    """Give the mean score of every deal, in the order in which the deals came."""
    of: dict[int, list[float]] = {}
    for row in rows:
        of.setdefault(row.deal, []).append(row.score)
    return [float(np.mean(scores)) for scores in of.values()]


def is_contest(env: TextEnv) -> bool:
    """Tell whether a higher score than the others' is a win."""
    return env.zero_sum or spec(env.env_id).kind == "competitive"
