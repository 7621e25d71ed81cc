"""From the episodes of a tournament to `tournament.json`, laid out as the package says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from coevo.benchmarks.results_folder import ResultsFolder, plain
from coevo.benchmarks.statistics.adaptability import partner_gap
from coevo.benchmarks.statistics.cross_play import CrossPlay
from coevo.benchmarks.tournament import ratings, sentences
from coevo.benchmarks.tournament.episode_log import EpisodeRecord
from coevo.benchmarks.tournament.pairings import cross_play
from coevo.benchmarks.tournament.plan import KIND
from coevo.benchmarks.tournament.results import PairResult, points_tell_all, rateable, results
from coevo.benchmarks.tournament.runner import Tournament
from coevo.benchmarks.tournament.tables import (
    Means,
    agent_line,
    matrix,
    result_line,
    seats,
)


def summarise(held: Tournament, exploitability: Mapping[str, Any] | None = None) -> dict[str, Any]:
    plan, pairings, episodes = held.plan, held.pairings, held.episodes
    kept, out = rateable(plan.agents, pairings)
    found = results(pairings, _rng(held, 1))
    only_points = points_tell_all(found, pairings)
    games = cross_play(pairings, kept) if len(kept) > 1 else None
    means, rated = _means(held, games), _ratings(held, games)
    agents = [*_ranked(kept, means), *out]
    why = {name: _why(name, episodes) for name in out}
    table: dict[str, Any] = plain(
        {
            "kind": KIND,
            "env": plan.env,
            "env_options": plan.env_options,
            "seed": plan.seed,
            "contest": held.contest,
            "only_points": only_points,
            "agents": agents,
            "left_out": why,
            "headline": [
                *_findings(held, games, found, rated, only_points),
                *(f"{name} is left out of the ratings: {reason}." for name, reason in why.items()),
                *(exploitability or {}).get("sentences", ()),
            ],
            "results": [
                result_line(r) | {"text": sentences.result_sentence(r, len(found), only_points)}
                for r in found
            ],
            "table": {name: agent_line(name, episodes, means) for name in agents},
            "matrix": matrix(agents, pairings, found),
            "seats": seats(
                held.schedule.seats, pairings, games if held.contest else None, _rng(held, 8)
            ),
            "ratings": rated,
            "adaptive": adaptive(held) if plan.adaptive else None,
            "exploitability": exploitability,
            "episodes": _counts(held),
        }
    )
    return table


def write(folder: Path, summary: Mapping[str, Any]) -> None:
    ResultsFolder(folder, KIND).write("tournament.json", summary)


def _rng(held: Tournament, stream: int) -> Generator:
    """Return every measure a generator of its own: none depends on which others are computed."""
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
    if not means:
        return sorted(kept)
    return sorted(kept, key=lambda name: (-means["mean_return"][name].point, name))


def _findings(
    held: Tournament,
    games: CrossPlay | None,
    found: Sequence[PairResult],
    rated: Mapping[str, Any],
    only_points: bool,
) -> list[str]:
    if games is None:
        return ["Fewer than two agents could be rated."]
    said = []
    own = [r for r in found if r.first in games.agents and r.second in games.agents]
    if held.contest:
        said += [sentences.leader(games.agents, own)]
        said += sentences.cycle_sentences(games.agents, own)
        said += [sentences.rating_sentence(rated["bradley_terry"], only_points)]
    else:
        gap = partner_gap(games.tally().payoff)
        said += [sentences.partner_sentence(gap.self_play, gap.cross_play)]
        said += [sentences.share_sentence(rated["alpha_rank"]["limit"])]
    return said + ([sentences.saved_sentence(adaptive(held))] if held.plan.adaptive else [])


def _why(name: str, episodes: Sequence[EpisodeRecord]) -> str:
    """Say why an agent has no results: its own errors first, then those of its opponents."""
    failed = [e for e in episodes if e.failed and name in e.pair]
    notes = sorted((e.note for e in failed), key=lambda note: not note.startswith(f"{name}:"))
    reason = f" ({notes[0]})" if notes and notes[0] else ""
    return f"{len(failed)} of its episodes failed{reason}"


def adaptive(held: Tournament) -> dict[str, Any]:
    """Say what the adaptive schedule has saved and what it left open."""
    wanted, pairings = held.open_questions, held.pairings
    questions, still = wanted.questions(), wanted.open(pairings)
    return {
        "episodes": sum(m.played for m in pairings.values()),
        "uniform": held.schedule.episodes,
        "questions": len(questions),
        "resolved": len(questions) - len(still),
        "open": [[list(q.left), list(q.right)] for q in still],
        "delta": wanted.delta,
    }


def _counts(held: Tournament) -> dict[str, int]:
    episodes = held.episodes
    return {
        "played": len(episodes),
        "counted": sum(len(m.episodes) for m in held.pairings.values()),
        "errors": sum(e.failed for e in episodes),
        "forfeits": sum(bool(e.forfeit) for e in episodes),
        "possible": held.schedule.episodes,
    }
