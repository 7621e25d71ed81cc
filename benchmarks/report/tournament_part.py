"""What is said about a tournament: who beats whom, and how sure the ratings are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from coevo.benchmarks.report.content import Content, Gallery
from coevo.benchmarks.report.markup import (
    Html,
    facts,
    folded,
    interval,
    joined,
    number,
    percent,
    section,
    table,
    tag,
)
from coevo.benchmarks.report.pairs_part import heat_cell
from coevo.benchmarks.report.panels import Heat, spread
from coevo.benchmarks.report.plays import Source
from coevo.benchmarks.report.ratings_part import bounds, head, middle, ratings, shown_value
from coevo.benchmarks.report.run_panels import Colours
from coevo.benchmarks.report.sources import lines, read_if_there, read_json, short

MATRICES = {
    "points": ("share of points, draws counted half", 0.5),
    "win": ("win rate", 0.5),
    "mean_return": ("mean payoff", 0.0),
    "mean": ("mean payoff", 0.0),
}
"""Table of `matrix` -> what it holds, and the value at which row and column are level."""
COUNTS = ("deals", "plays", "played")
"""Tables of `matrix` that say how much is behind a cell, the best first."""


def content(folder: Path, gallery: Gallery) -> Content:
    """Read a tournament, finished or not, and say what it holds.

    Args:
        folder: of the tournament.
        gallery: draws its charts.
    """
    manifest = read_json(folder / "manifest.json")
    summary = read_if_there(folder / "tournament.json")
    agents = [str(a) for a in summary.get("agents") or manifest.get("agents") or ()]
    env = str(summary.get("env") or manifest.get("env", "?"))
    colours = Colours(agents)
    verdict = list(summary.get("headline") or ())
    if not summary:
        played = sum(1 for _ in lines(folder / "plays.jsonl"))
        verdict = [f"This tournament has not ended: {played:,} plays so far, tables at the end."]
    return Content(
        kind="Tournament",
        title=f"{len(agents)} agents on {short(env)}",
        verdict=verdict,
        facts=_facts(manifest, summary, env),
        sections=[
            section("cross-play", "Everybody against everybody", cross_play(summary, gallery)),
            section("ratings", "Ratings", ratings(summary, colours, gallery)),
            section("agents", "Agents", agent_table(summary)),
            section("pairs", "Pairs in words", _verdicts(summary)),
            section("exploitability", "Exploitability", _exploitability(summary)),
        ],
        appendix=[section("origin", "Where it comes from", _origin(manifest))],
        series=agents,
        sources=_sources(folder, env),
        group="players",
    )


def _sources(folder: Path, env: str) -> list[Source]:
    """Give whole plays where a tournament has kept some."""
    path = folder / "episodes.jsonl"
    return [Source(path, path.name, short(env), "all", "")] if path.is_file() else []


def _facts(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], env: str
) -> list[tuple[str, object]]:
    counts = summary.get("plays") if isinstance(summary.get("plays"), Mapping) else {}
    return [
        ("Environment", env),
        ("Plays per pair, at most", manifest.get("games")),
        *((f"Plays {name}", value) for name, value in (counts or {}).items()),
        ("Seed", manifest.get("seed")),
        ("Adaptive", "yes" if manifest.get("adaptive") else None),
    ]


# ---- Cross-play --------------------------------------------------------------------------------


def cross_play(summary: Mapping[str, Any], gallery: Gallery) -> Html:
    """Write the tables of row against column, the main one also as a picture."""
    matrix = summary.get("matrix") or {}
    agents = [str(a) for a in matrix.get("agents") or summary.get("agents") or ()]
    found = [(key, *MATRICES[key]) for key in MATRICES if _any(matrix.get(key))]
    if not agents or not found:
        return Html("")
    parts = [_heat(key, what, centre, matrix, agents) for key, what, centre in found]
    key, what, centre = found[0]
    values = tuple(tuple(middle(v) for v in row) for row in matrix[key])
    title = f"Row against column: {what}"
    gallery.keep(Heat("cross_play", title, tuple(agents), tuple(agents), values, centre))
    return joined(
        parts[0], *(folded(f"Also: {f[1]}", p) for f, p in zip(found[1:], parts[1:], strict=True))
    )


def _any(rows: Any) -> bool:
    return bool(rows) and any(middle(v) is not None for row in rows for v in row)


def _heat(
    key: str, what: str, centre: float, matrix: Mapping[str, Any], agents: Sequence[str]
) -> Html:
    values = [[middle(v) for v in row] for row in matrix[key]]
    reach = 0.5 if centre else spread(values, centre)
    counted = next((k for k in COUNTS if matrix.get(k)), None)
    rows = []
    for i, name in enumerate(agents):
        cells = []
        for j in range(len(agents)):
            n = matrix[counted][i][j] if counted else None
            cells.append(_heat_cell(matrix[key][i][j], centre, reach, n, counted))
        rows.append([name, *cells])
    caption = f"Row against column: {what}, with 95 % interval and number of {counted or 'plays'}"
    return tag("div", table(caption, ["", *agents], rows), class_="matrix")


def _heat_cell(value: Any, centre: float, reach: float, n: Any, counted: str | None) -> Html:
    point = middle(value)
    if point is None:
        return tag("td", "·")
    small = [interval(bounds(value), 2).strip("–"), f"n = {n}" if counted else ""]
    inside = joined(number(point, 2), *(tag("small", text) for text in small if text))
    return heat_cell(point, centre, reach, inside)


# ---- Tables ------------------------------------------------------------------------------------


def agent_table(summary: Mapping[str, Any]) -> Html:
    """Write what every agent did over all its plays."""
    own = summary.get("table") or {}
    columns = list(dict.fromkeys(key for values in own.values() for key in values))
    rows = [
        [name, *(_agent_cell(c, values.get(c)) for c in columns)] for name, values in own.items()
    ]
    left = summary.get("left_out") or {}
    notes = [tag("p", f"{name} is not rated: {why}.", class_="note") for name, why in left.items()]
    if not rows:
        return joined(*notes)
    heads = ["Agent", *map(head, columns)]
    return joined(table("Means over opponents, and rates over plays", heads, rows), *notes)


def _agent_cell(column: str, value: Any) -> str:
    if value is not None and (column.endswith("_rate") or column in ("won", "drawn", "lost")):
        return percent(value)
    return shown_value(value)


def _verdicts(summary: Mapping[str, Any]) -> Html:
    said = [v.get("text", "") for v in summary.get("verdicts") or () if isinstance(v, Mapping)]
    return tag("ul", *(tag("li", text) for text in said)) if said else Html("")


def _exploitability(summary: Mapping[str, Any]) -> Html:
    """Write what a best response gains: exactly, or as far as one was trained."""
    found = summary.get("exploitability") or {}
    rows = [
        [
            name,
            number((own.get("exact") or {}).get("exploitability")),
            number((own.get("exact") or {}).get("nash_conv")),
            _trained(own.get("exploiter") or {}),
            tag("td", own.get("why") or (own.get("exploiter") or {}).get("why") or ""),
        ]
        for name, own in (found.get("agents") or {}).items()
    ]
    if not rows:
        return Html("")
    heads = ("Agent", "Exact", "NashConv", "Trained exploiter earns", "Why not exact")
    caption = (
        "Payoff that a best response gains; 0 cannot be beaten. A trained one is a lower bound"
    )
    return table(caption, heads, rows, words=(0, 4))


def _trained(own: Mapping[str, Any]) -> str:
    inner = interval(own.get("interval"))
    return number(own.get("score")) + ("" if inner == "–" else f" {inner}")


def _origin(manifest: Mapping[str, Any]) -> Html:
    hardware = manifest.get("hardware") or {}
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    known = [
        ("Commit", manifest.get("commit")),
        *((str(k).capitalize(), v) for k, v in hardware.items()),
    ]
    return joined(facts(known), folded("manifest.json", tag("pre", tag("code", text), tabindex=0)))
