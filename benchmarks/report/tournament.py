"""The page of a tournament: results of each pair, and ratings with their uncertainty."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coevo.benchmarks.files import read_if_there, read_json, short
from coevo.benchmarks.report.charts import Curves, Intervals, Line, Row
from coevo.benchmarks.report.episodes import EpisodeFile
from coevo.benchmarks.report.formats import estimate, interval, number, percent, tile
from coevo.benchmarks.report.gallery import Gallery
from coevo.benchmarks.report.sources import lines

MATRICES = {
    "points": ("share of points, draws counted half", 0.5),
    "win": ("win rate", 0.5),
    "mean_return": ("mean payoff", 0.0),
    "mean": ("mean payoff", 0.0),
}
"""Table of `matrix` -> what it holds, and the value at which row and column are level."""
COUNTS = ("tasks", "episodes", "played")
"""Tables of `matrix` that say how much is behind a number, the best first."""
HEADS = {"interval": "95 % interval", "mu": "mu", "sigma": "sigma", "games": "n episodes"}
"""Key of a rating -> head of its column, where it is not the key itself."""
DIGITS = {"bradley_terry": 0, "plackett_luce": 1}
"""Digits after the point of ratings that are not shares."""
NAMES = {
    "bradley_terry": "Bradley-Terry, on the scale of Elo",
    "plackett_luce": "Plackett-Luce (OpenSkill)",
    "nash_averaging": "Nash averaging",
    "alpha_rank": "alpha-Rank in the limit",
}
"""Key of `ratings` -> what its table is called."""
Table = tuple[str, list[str], list[list[str]]]
"""Caption, heads and rows."""


def content(folder: Path, gallery: Gallery) -> dict[str, Any]:
    """Read a tournament, finished or not; return what `tournament.html.jinja` shows."""
    manifest = read_json(folder / "manifest.json")
    summary = read_if_there(folder / "tournament.json")
    agents = [str(a) for a in summary.get("agents") or manifest.get("agents") or ()]
    env = str(summary.get("env") or manifest.get("env", "?"))
    verdict = list(summary.get("headline") or ())
    if not summary:
        count = sum(1 for _ in lines(folder / "records.jsonl"))
        verdict = [f"This tournament has not ended: {count:,} episodes so far, tables at the end."]
    ratings = {k: v for k, v in (summary.get("ratings") or {}).items() if isinstance(v, Mapping)}
    colours = {agent: place for place, agent in enumerate(agents)}
    kept = folder / "episodes.jsonl"
    return {
        "label": "Tournament",
        "title": f"{len(agents)} agents on {short(env)}",
        "verdict": verdict,
        "facts": _facts(manifest, summary, env),
        "series": agents,
        "group": "players",
        "sources": [EpisodeFile(kept, kept.name, short(env), "all", "")] if kept.is_file() else [],
        "matrices": list(_matrices(summary, agents)),
        "rating_charts": gallery.show(_elo(ratings, colours), _sweep(ratings, colours)),
        "ratings": [table for name, own in ratings.items() for table in _ratings(name, own)],
        "apart": [own["apart"] for own in ratings.values() if own.get("apart")],
        "agents": _agents(summary.get("table") or {}),
        "left_out": summary.get("left_out") or {},
        "pairs": [v["text"] for v in summary.get("results") or () if "text" in v],
        "exploitability": (summary.get("exploitability") or {}).get("agents") or {},
        "origin": [
            ("Commit", manifest.get("commit")),
            *((str(k).capitalize(), v) for k, v in (manifest.get("hardware") or {}).items()),
        ],
        "manifest_text": json.dumps(manifest, indent=2, ensure_ascii=False),
    }


def _facts(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], env: str
) -> list[tuple[str, object]]:
    counts = summary.get("episodes") or {}
    return [
        ("Environment", env),
        ("Episodes per pair, at most", manifest.get("games")),
        *((f"Episodes {name}", value) for name, value in counts.items()),
        ("Seed", manifest.get("seed")),
        ("Adaptive", "yes" if manifest.get("adaptive") else None),
    ]


# ---- Cross-play --------------------------------------------------------------------------------


def _matrices(
    summary: Mapping[str, Any], agents: Sequence[str]
) -> Iterator[tuple[str, str, list[str], list[list[dict[str, Any]]]]]:
    matrix = summary.get("matrix") or {}
    names = [str(a) for a in matrix.get("agents") or agents]
    counted = next((k for k in COUNTS if matrix.get(k)), None)
    for key, (what, centre) in MATRICES.items():
        values = [[middle(v) for v in row] for row in matrix.get(key) or ()]
        known = [abs(v) for row in values for v in row if v is not None]
        if not known:
            continue
        reach = 0.5 if centre else max(known)
        caption = (
            f"Row against column: {what}, with 95 % interval and number of {counted or 'episodes'}"
        )
        numbers = matrix[counted] if counted else [[None] * len(row) for row in values]
        pairs = [zip(a, b, strict=True) for a, b in zip(matrix[key], numbers, strict=True)]
        yield what, caption, names, [[_tile(v, centre, reach, n) for v, n in row] for row in pairs]


def _tile(value: Any, centre: float, reach: float, count: Any) -> dict[str, Any]:
    point = middle(value)
    if point is None:
        return tile("·", None, 0, 0)
    bounds = interval([value[0], value[2]], 2).strip("–") if isinstance(value, list) else ""
    small = [bounds, "" if count is None else f"n = {count}"]
    return tile(number(point, 2), point, centre, reach, small)


def middle(value: Any) -> float | None:
    """Return the estimate of [low, estimate, high], or of a bare number."""
    return value[1] if isinstance(value, list) and len(value) == 3 else value


# ---- Ratings -----------------------------------------------------------------------------------


def _elo(ratings: Mapping[str, Any], colours: Mapping[str, int]) -> Intervals | None:
    own = (ratings.get("bradley_terry") or {}).get("agents") or {}
    known = {name: r for name, r in own.items() if r.get("rating") is not None}
    rows = tuple(
        Row(name, r["rating"], r.get("interval"), (), colours[name], f"n = {r.get('games', '?')}")
        for name, r in sorted(known.items(), key=lambda pair: -pair[1]["rating"])
    )
    if not rows:
        return None
    note = (
        "Bradley-Terry on the scale of Elo, the lowest at 0, with 95 % intervals over n episodes."
    )
    return Intervals(name="ratings", title="Ratings", x_label="Elo points", rows=rows, note=note)


def _sweep(ratings: Mapping[str, Any], colours: Mapping[str, int]) -> Curves | None:
    sweep = (ratings.get("alpha_rank") or {}).get("sweep") or []
    sweep = [point for point in sweep if point.get("alpha", 0) > 0]
    if len(sweep) < 2:
        return None
    alphas = [math.log10(point["alpha"]) for point in sweep]
    lines = tuple(
        Line(name, alphas, [middle(p["shares"].get(name)) or 0.0 for p in sweep], colours[name])
        for name in sweep[0]["shares"]
    )
    return Curves(
        name="alpha_rank",
        title="alpha-Rank",
        unit="share",
        x_label="log10 of alpha",
        lines=lines,
        note="Share of time that the evolution of alpha-Rank spends at each agent, as selection "
        "grows.",
        y_range=(0.0, 1.0),
        percent=True,
    )


def _ratings(name: str, own: Mapping[str, Any]) -> Iterator[Table]:
    """Return one kind of rating: one table, or one for every way that it was computed."""
    title = NAMES.get(name, name.replace("_", " "))
    for key in ("agents", "limit"):
        if isinstance(own.get(key), Mapping):
            yield _rating(title, own[key], DIGITS.get(name, 3))
            return
    for key, table in own.items():
        if isinstance(table, Mapping):
            yield _rating(f"{title}, of {key.replace('_', ' ')}", table)


def _rating(caption: str, given: Mapping[str, Any], digits: int = 3) -> Table:
    """Return whatever numbers a rating has for every agent, the best first."""
    agents = {a: v if isinstance(v, Mapping) else {"value": v} for a, v in given.items()}
    columns = list(dict.fromkeys(key for values in agents.values() for key in values))

    def first(agent: str) -> float:
        values = (middle(agents[agent].get(column)) for column in columns)
        return next((v for v in values if isinstance(v, int | float)), 0.0)

    order = sorted(agents, key=first, reverse=True)
    rows = [[a, *(estimate(agents[a].get(c), digits) for c in columns)] for a in order]
    return caption, ["Agent", *map(head, columns)], rows


def _agents(table: Mapping[str, Mapping[str, Any]]) -> Table:
    columns = list(dict.fromkeys(key for values in table.values() for key in values))
    rates = [c.endswith("_rate") or c in ("won", "drawn", "lost") for c in columns]
    rows = [
        [
            name,
            *(
                percent(values.get(c)) if rate else estimate(values.get(c))
                for c, rate in zip(columns, rates, strict=True)
            ),
        ]
        for name, values in table.items()
    ]
    return "Means over opponents, and rates over episodes", ["Agent", *map(head, columns)], rows


def head(column: str) -> str:
    return HEADS.get(column, column.replace("_", " ").capitalize())
