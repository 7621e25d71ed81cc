"""From the plays of a tournament to `tournament.json`; the layout is in the package's docstring."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from coevo.benchmarks.statistics.adaptability import partner_gap
from coevo.benchmarks.statistics.cross_play import CrossPlay
from coevo.benchmarks.tournament import ratings, verdicts
from coevo.benchmarks.tournament.hold import Tournament
from coevo.benchmarks.tournament.meetings import cross_play
from coevo.benchmarks.tournament.plan import KIND
from coevo.benchmarks.tournament.plays import Play
from coevo.benchmarks.tournament.results import Result, points_tell_all, rateable, results
from coevo.benchmarks.tournament.tables import (
    Means,
    agent_line,
    matrix,
    plain,
    seats,
    verdict_line,
)
from coevo.trainers.run_folder import replace_text, storage


def summarise(held: Tournament, exploitability: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Compute everything that is said about a tournament.

    Args:
        held: the tournament, played.
        exploitability: what `exploit_all` gave.
    """
    plan, met, plays = held.plan, held.met, held.plays
    kept, out = rateable(plan.agents, met)
    found = results(met, _rng(held, 1))
    only_points = points_tell_all(found, met)
    games = cross_play(met, kept) if len(kept) > 1 else None
    means, rated = _means(held, games), _ratings(held, games)
    agents = [*_ranked(kept, means), *out]
    why = {name: _why(name, plays) for name in out}
    return {
        "kind": KIND,
        **plain({"env": plan.env, "env_options": plan.env_options, "seed": plan.seed}),
        "contest": held.contest,
        "only_points": only_points,
        "agents": agents,
        "left_out": why,
        "headline": [
            *_findings(held, games, found, rated, only_points),
            *(f"{name} is left out of the ratings: {reason}." for name, reason in why.items()),
            *(exploitability or {}).get("sentences", ()),
        ],
        "verdicts": [
            plain(verdict_line(r)) | {"text": verdicts.verdict(r, len(found), only_points)}
            for r in found
        ],
        "table": plain({name: agent_line(name, plays, means) for name in agents}),
        "matrix": plain(matrix(agents, met, found)),
        "seats": plain(
            seats(held.schedule.seats, met, games if held.contest else None, _rng(held, 8))
        ),
        "ratings": plain(rated),
        "adaptive": plain(adaptive(held)) if plan.adaptive else None,
        "exploitability": plain(exploitability),
        "plays": _counts(held),
    }


def write(folder: Path, summary: Mapping[str, Any]) -> None:
    """Write `tournament.json` in one step."""
    path = folder / "tournament.json"
    with storage(path):
        replace_text(path, json.dumps(summary, indent=2, allow_nan=False) + "\n")


def _rng(held: Tournament, stream: int) -> Generator:
    """Give every measure a generator of its own: none depends on which others are computed."""
    return np.random.default_rng([held.plan.seed, 2**32, stream])


def _means(held: Tournament, games: CrossPlay | None) -> Means:
    if games is None:
        return {}
    found = {"mean_return": ratings.means(games, _rng(held, 2), "payoff")}
    if held.contest:
        found["points"] = ratings.means(games, _rng(held, 4), "win_rate")
    return {key: dict(zip(games.agents, own, strict=True)) for key, own in found.items()}


def _ratings(held: Tournament, games: CrossPlay | None) -> dict[str, Any]:
    if games is None:
        return {}
    shares = ratings.alpha_rank(games, held.contest, _rng(held, 3))
    if not held.contest:
        return {"alpha_rank": shares}
    return {
        "bradley_terry": ratings.elo(games, _rng(held, 5)),
        "plackett_luce": ratings.plackett_luce(games, _rng(held, 6)),
        "alpha_rank": shares,
        "nash_averaging": ratings.nash(games, _rng(held, 7)),
    }


def _ranked(kept: Sequence[str], means: Means) -> list[str]:
    """Order agents by mean score, the best first; agents with equal scores by name."""
    if not means:
        return sorted(kept)
    return sorted(kept, key=lambda name: (-means["mean_return"][name].point, name))


def _findings(
    held: Tournament,
    games: CrossPlay | None,
    found: Sequence[Result],
    rated: Mapping[str, Any],
    only_points: bool,
) -> list[str]:
    """Say what matters first."""
    if games is None:
        return ["Fewer than two agents could be rated."]
    said = []
    own = [r for r in found if r.first in games.agents and r.second in games.agents]
    if held.contest:
        said += [verdicts.leader(games.agents, own)]
        said += verdicts.circle_sentences(games.agents, own)
        said += [verdicts.rating_sentence(rated["bradley_terry"], only_points)]
    else:
        gap = partner_gap(games.tally().payoff)
        said += [verdicts.partner_sentence(gap.self_play, gap.cross_play)]
        said += [verdicts.share_sentence(rated["alpha_rank"]["limit"])]
    return said + ([verdicts.saved_sentence(adaptive(held))] if held.plan.adaptive else [])


def _why(name: str, plays: Sequence[Play]) -> str:
    """Say why an agent has no results: its own errors first, then those of its opponents."""
    failed = [p for p in plays if p.failed and name in p.pair]
    notes = sorted((p.note for p in failed), key=lambda note: not note.startswith(f"{name}:"))
    reason = f" ({notes[0]})" if notes and notes[0] else ""
    return f"{len(failed)} of its plays failed{reason}"


def adaptive(held: Tournament) -> dict[str, Any]:
    """Say what adaptive play has saved and what it left open."""
    wanted, met = held.directions, held.met
    questions, still = wanted.questions(), wanted.open(met)
    return {
        "plays": sum(m.played for m in met.values()),
        "uniform": held.schedule.plays,
        "questions": len(questions),
        "resolved": len(questions) - len(still),
        "open": [[list(q.left), list(q.right)] for q in still],
        "delta": wanted.confidence.delta,
        "bound": wanted.confidence.bound,
    }


def _counts(held: Tournament) -> dict[str, int]:
    plays = held.plays
    return {
        "played": len(plays),
        "counted": sum(len(m.plays) for m in held.met.values()),
        "errors": sum(p.failed for p in plays),
        "forfeits": sum(bool(p.forfeit) for p in plays),
        "possible": held.schedule.plays,
    }
