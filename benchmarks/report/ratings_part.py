"""Ratings of a tournament: charts of two, tables of all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from coevo.benchmarks.report.content import Gallery
from coevo.benchmarks.report.markup import Html, interval, joined, number, table, tag
from coevo.benchmarks.report.panels import Curves, Intervals, Line, Row
from coevo.benchmarks.report.run_panels import Colours

HEADS = {"interval": "95 % interval", "mu": "mu", "sigma": "sigma", "games": "n plays"}
DIGITS = {"bradley_terry": 0, "plackett_luce": 1}
"""Digits after the point of ratings that are not shares."""
"""Key of a rating -> head of its column, where it is not the key itself."""


def ratings(summary: Mapping[str, Any], colours: Colours, gallery: Gallery) -> Html:
    """Draw Bradley-Terry and alpha-Rank, and write every rating in a table."""
    found = summary.get("ratings") or {}
    charts = gallery.show(_elo(found, colours), _sweep(found, colours))
    tables = [_rating(name, own) for name, own in found.items() if isinstance(own, Mapping)]
    return joined(charts, tag("div", *tables, class_="tables") if tables else "")


def _elo(found: Mapping[str, Any], colours: Colours) -> Intervals | None:
    own = (found.get("bradley_terry") or {}).get("agents") or {}
    rows = [
        Row(
            name,
            r["rating"],
            (r.get("interval") or (None, None))[0],
            (r.get("interval") or (None, None))[1],
            (),
            colours[name],
            f"n = {r.get('games', '?')}",
        )
        for name, r in sorted(own.items(), key=lambda pair: -pair[1]["rating"])
        if r.get("rating") is not None
    ]
    if not rows:
        return None
    note = "Bradley-Terry on the scale of Elo, the lowest at 0, with 95 % intervals over n plays."
    return Intervals("ratings", "Ratings", "Elo points", tuple(rows), note)


def _sweep(found: Mapping[str, Any], colours: Colours) -> Curves | None:
    sweep = (found.get("alpha_rank") or {}).get("sweep") or []
    sweep = [point for point in sweep if point.get("alpha", 0) > 0]
    if len(sweep) < 2:
        return None
    alphas = [math.log10(point["alpha"]) for point in sweep]
    names = list(sweep[0]["shares"])
    lines = tuple(
        Line(n, alphas, [middle(point["shares"].get(n)) or 0.0 for point in sweep], colours[n])
        for n in names
    )
    note = (
        "Share of time that the evolution of alpha-Rank spends at each agent, as selection grows."
    )
    return Curves(
        "alpha_rank", "alpha-Rank", "log10 of alpha", "share", lines, note, (0.0, 1.0), percent=True
    )


NAMES = {
    "bradley_terry": "Bradley-Terry, on the scale of Elo",
    "plackett_luce": "Plackett-Luce (OpenSkill)",
    "nash_averaging": "Nash averaging",
    "alpha_rank": "alpha-Rank in the limit",
}
"""Key of `ratings` -> what its table is called."""


def _rating(name: str, own: Mapping[str, Any]) -> Html:
    """Write one kind of rating: one table, or one for every way that it was computed."""
    title = NAMES.get(name, name.replace("_", " "))
    for key in ("agents", "limit"):
        if isinstance(own.get(key), Mapping):
            return joined(
                _rating_table(title, own[key], DIGITS.get(name, 3)), _apart(own.get("apart"))
            )
    kinds = [(k, v) for k, v in own.items() if isinstance(v, Mapping)]
    return joined(*(_rating_table(f"{title}, of {k.replace('_', ' ')}", v) for k, v in kinds))


def _rating_table(caption: str, given: Mapping[str, Any], digits: int = 3) -> Html:
    """Write whatever numbers a rating has for every agent, the best first."""
    agents = {a: v if isinstance(v, Mapping) else {"value": v} for a, v in given.items()}
    columns = list(dict.fromkeys(key for values in agents.values() for key in values))
    order = sorted(agents, key=lambda a: -(_first(agents[a], columns) or 0.0))
    rows = [[a, *(shown_value(agents[a].get(c), digits) for c in columns)] for a in order]
    heads = ["Agent", *map(head, columns)]
    return table(caption, heads, rows) if rows else Html("")


def _apart(groups: Any) -> Html:
    if not groups:
        return Html("")
    named = "; ".join(", ".join(map(str, group)) for group in groups)
    said = f"No chain of wins connects these groups: {named}. Smoothing alone sets their distance."
    return tag("p", said, class_="note")


def _first(values: Mapping[str, Any], columns: Sequence[str]) -> float | None:
    return next((v for c in columns if isinstance(v := middle(values.get(c)), int | float)), None)


def shown_value(value: Any, digits: int = 3) -> str:
    """Write [low, estimate, high], [low, high] or a bare number.

    >>> shown_value([0.1, 0.2, 0.4], 1), shown_value([0.1, 0.4], 1), shown_value(None)
    ('0.2 [0.1, 0.4]', '[0.1, 0.4]', '–')
    """
    if isinstance(value, list) and len(value) == 2:
        return interval(value, digits)
    inner = interval(bounds(value), digits)
    return number(middle(value), digits) + ("" if inner == "–" else f" {inner}")


def head(column: str) -> str:
    """Turn a key into the head of a column.

    >>> head("interval"), head("mean_return")
    ('95 % interval', 'Mean return')
    """
    return HEADS.get(column, column.replace("_", " ").capitalize())


def middle(value: Any) -> float | None:
    """Give the estimate of [low, estimate, high], or of a bare number.

    >>> middle([0.1, 0.2, 0.4]), middle(0.3), middle(None)
    (0.2, 0.3, None)
    """
    return value[1] if isinstance(value, list) and len(value) == 3 else value


def bounds(value: Any) -> list[float | None] | None:
    """Give the interval of [low, estimate, high]; None of a bare number."""
    return [value[0], value[2]] if isinstance(value, list) and len(value) == 3 else None
