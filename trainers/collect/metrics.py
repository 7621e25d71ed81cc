"""Numbers about the episodes of one update, logged whatever the algorithm."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from coevo.envs import spec
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.parsing import Status
from coevo.envs.core.task import role_of

EQUAL = 1e-9
"""Scores that differ by no more are a draw: sums of floats differ in the last place."""


def rollout_metrics(seats: Sequence[str], episodes: Sequence[Episode]) -> dict[str, float]:
    """Summarise episodes: returns per seat and component, win rate by seat, forfeits, lengths.

    A win is the single highest score of an episode (`lead` above 0), as in evaluation. Comparing
    with the other seats, and not with 0, fits every payoff scale; asking the registry for
    competitive tasks alone would lose the generic environment, which is `mixed` and mostly plays
    zero-sum games. Where all seats earn the same (`cooperative`) there is no winner, and no rate is
    given. Episodes in which an agent could not answer are counted (`stop/error`) and left out of
    the rest. `invalid/<component>` counts the replies that a reward module found no reward for.
    """
    stops = Counter(str(e.stop) for e in episodes)
    metrics = {f"stop/{name}": n / len(episodes) for name, n in sorted(stops.items())}
    episodes = [e for e in episodes if e.stop is not StopReason.ERROR]
    count = len(episodes)
    if not count:
        return metrics
    contest = len(seats) > 1 and any(spec(e.env).kind != "cooperative" for e in episodes)
    for seat in seats:
        metrics[f"return/{seat}"] = float(np.mean([score(e, seat) for e in episodes]))
        if contest:
            metrics[f"win_rate/{seat}"] = sum(lead(e, seat) > EQUAL for e in episodes) / count
        turns = sum(t.agent == seat for e in episodes for t in e.turns)
        illegal = sum(e.illegal_replies(seat) for e in episodes)
        metrics[f"illegal_rate/{seat}"] = illegal / max(turns, 1)
    metrics |= _by_agent(episodes) | _by_caller(seats, episodes)
    metrics["forfeit_rate"] = stops.get("forfeit", 0) / count
    metrics["turns"] = sum(len(e.turns) for e in episodes) / count
    for component in sorted({c for e in episodes for t in e.turns for c in t.rewards}):
        total = sum(e.total(a, component) for e in episodes for a in e.agents)
        metrics[f"reward/{component}"] = total / count / len(seats)
    missing = Counter(c for e in episodes for t in e.turns for c in t.invalid)
    metrics |= {f"invalid/{component}": float(n) for component, n in sorted(missing.items())}
    return metrics


def _by_caller(seats: Sequence[str], episodes: Sequence[Episode]) -> dict[str, float]:
    """Return how often each seat, and each role that is no seat's, was asked, and what came of it.

    `invocation/` is its share of all replies, `parse_fail/` the share of its replies of which
    nothing was read, `reply_tokens/` their mean length where a policy wrote them.
    """
    turns = [t for e in episodes for t in e.turns]
    asked: dict[str, list[Turn]] = {seat: [] for seat in seats}
    of_seats = {role_of(seat) for seat in seats}
    for turn in turns:
        asked[turn.agent].append(turn)
        if turn.role and turn.role not in of_seats:
            asked.setdefault(turn.role, []).append(turn)
    found: dict[str, float] = {}
    for name, own in asked.items():
        found[f"invocation/{name}"] = len(own) / max(len(turns), 1)
        unread = sum(t.status is Status.UNPARSABLE for t in own)
        found[f"parse_fail/{name}"] = unread / max(len(own), 1)
        lengths = [len(t.token_ids) for t in own if t.token_ids]
        if lengths:
            found[f"reply_tokens/{name}"] = float(np.mean(lengths))
    return found


def score(episode: Episode, seat: str) -> float:
    """Return a seat's payoff, with the penalties or gains of illegal replies."""
    return episode.total(seat, "payoff") + episode.total(seat, "illegal")


def lead(episode: Episode, seat: str) -> float:
    """Return a seat's score minus the best score of the others.

    The score is the payoff of the rules and, where a forfeit ended the episode, what that brought.
    A seat that forfeited is behind all others: -inf, and no rival of theirs.
    """
    out = episode.offenders
    if seat in out:
        return -math.inf
    counted = ("payoff", "illegal") if out else ("payoff",)
    scores = {a: sum(episode.total(a, c) for c in counted) for a in episode.agents}
    rivals = [score for a, score in scores.items() if a not in (seat, *out)]
    return scores[seat] - max(rivals, default=-math.inf)


def _by_agent(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return the mean payoff of each agent where several play: seats rotate between them."""
    paid: dict[str, list[float]] = {}
    for episode in episodes:
        players = {t.agent: t.player for t in episode.turns}
        for seat, player in players.items():
            paid.setdefault(player, []).append(score(episode, seat))
    if len(paid) < 2:
        return {}
    return {f"return/{player}": float(np.mean(values)) for player, values in sorted(paid.items())}


def outcomes(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return the mean of every metric that environments have of their own, `outcome/<name>`.

    Returns of seats are summarised elsewhere. A metric that only some episodes have is a mean of
    those; episodes in which an agent could not answer are left out.
    """
    found: dict[str, list[float]] = {}
    for episode in episodes:
        if episode.stop is not StopReason.ERROR:
            for name, value in episode.outcome.items():
                if not name.startswith("return/"):
                    found.setdefault(f"outcome/{name}", []).append(value)
    return {name: float(np.mean(values)) for name, values in sorted(found.items())}


def worth(episode: Episode, seat: str, weights: Mapping[str, float]) -> float:
    """Return what an episode earned a seat, components weighted; 1 where no weight is given."""
    names = sorted({name for turn in episode.turns for name in turn.rewards})
    return sum(weights.get(c, 1.0) * episode.total(seat, c) for c in names)
