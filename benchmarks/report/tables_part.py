"""Tables and charts of one table of `comparison.json`: an environment, or all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coevo.benchmarks.report.markup import (
    Html,
    duration,
    interval,
    joined,
    number,
    table,
    tag,
)
from coevo.benchmarks.report.panels import Curves, Intervals, Line, Row
from coevo.benchmarks.report.run_panels import Colours

SCALE = "normalised score: 0 is random play, 1 the oracle"
INTERVALS_NOTE = (
    "Large dots: interquartile means over all runs. Bars: their 95 % bootstrap intervals. Small "
    "dots: single seeds, each the mean over its environments."
)
ENDS = (("random", 0.0), ("oracle", 1.0))
"""Names and normalised scores of the references."""
BAND_NOTE = "Interquartile means over n seeds, with pointwise 95 % bootstrap intervals."
PROFILE_NOTE = (
    "The share of runs that score above a threshold, with pointwise 95 % bootstrap intervals. "
    "Higher is better; where curves cross, the order is a matter of the threshold."
)


def aggregate_chart(
    part: Mapping[str, Any], colours: Colours, name: str, title: str
) -> Intervals | None:
    """Draw the interquartile mean of every algorithm with its interval, over its seeds."""
    rows = [
        Row(
            label=algorithm,
            centre=own["iqm"],
            low=_bound(own.get("interval"), 0),
            high=_bound(own.get("interval"), 1),
            points=tuple(own.get("scores") or ()),
            colour=colours[algorithm],
            detail=f"n = {own['n']}",
        )
        for algorithm, own in ranked(part)
    ]
    if not rows:
        return None
    return Intervals(name, title, SCALE, tuple(rows), marks=_references(part, rows))


def ranked(part: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Give the algorithms that have a result, the best first."""
    own = [(a, t) for a, t in (part.get("algorithms") or {}).items() if t.get("iqm") is not None]
    return sorted(own, key=lambda pair: -pair[1]["iqm"])


def _bound(bounds: Any, side: int) -> float | None:
    return bounds[side] if isinstance(bounds, list) and len(bounds) == 2 else None


def _references(part: Mapping[str, Any], rows: Sequence[Row]) -> tuple[tuple[str, float], ...]:
    """Mark where random play, the start model and the oracle are, as far as that is in view."""
    places = dict(ENDS) | start(part)
    shown = [
        v for row in rows for v in (row.centre, row.low, row.high, *row.points) if v is not None
    ]
    low, high = min(shown), max(shown)
    room = 0.35 * max(high - low, 0.05)
    return tuple((k, v) for k, v in places.items() if low - room <= v <= high + room)


def start(part: Mapping[str, Any]) -> dict[str, float]:
    """Give the normalised score of the start model, where the references allow it."""
    refs = part.get("references") or {}
    at, low, high = (refs.get(k) for k in ("start", "random", "oracle"))
    if at is None or low is None or high is None or low == high:
        return {}
    return {"start": (at - low) / (high - low)}


def curve_chart(part: Mapping[str, Any], colours: Colours, name: str, title: str) -> Curves | None:
    """Draw the learning curves of one environment with their intervals."""
    curve = part.get("curve")
    if not curve or not curve.get("algorithms"):
        return None
    over = curve.get("by", "tokens")
    lines = tuple(
        Line(
            a, curve[over], _array(t["iqm"]), colours[a], _band(t.get("low")), _band(t.get("high"))
        )
        for a, t in curve["algorithms"].items()
    )
    sampled = "sampled tokens" if over == "tokens" else over
    title = title + runs_behind(part)
    return Curves(name, title, sampled, "normalised score", lines, marks=ENDS)


def runs_behind(part: Mapping[str, Any]) -> str:
    """Say over how many seeds a chart is.

    >>> runs_behind({"algorithms": {"a": {"n": 9}, "b": {"n": 9}}})
    ', n = 9'
    """
    counts = sorted({own["n"] for own in (part.get("algorithms") or {}).values() if own.get("n")})
    return (
        f", n = {' to '.join(map(str, dict.fromkeys([*counts[:1], *counts[-1:]])))}"
        if counts
        else ""
    )


def profile_chart(
    part: Mapping[str, Any], colours: Colours, name: str, title: str
) -> Curves | None:
    """Draw the share of runs above every score, where the shares change."""
    profile = part.get("profile")
    if not profile or not profile.get("algorithms"):
        return None
    own = sorted(profile["algorithms"].items(), key=lambda pair: -sum(pair[1]["share"]))
    part_of = _changing([t["share"] for _, t in own])
    lines = tuple(
        Line(
            a,
            profile["thresholds"][part_of],
            _array(t["share"])[part_of],
            colours[a],
            _band(t.get("low"), part_of),
            _band(t.get("high"), part_of),
        )
        for a, t in own
    )
    return Curves(
        name,
        title + runs_behind(part),
        "normalised score",
        "share of runs above it",
        lines,
        y_range=(0.0, 1.0),
        percent=True,
        ordered=True,
        from_zero=False,
    )


def _changing(shares: Sequence[Sequence[float]]) -> slice:
    """Leave out the thresholds that all runs pass or none does, but one on each side.

    >>> _changing([[1, 1, 1, 0.5, 0, 0], [1, 1, 0.5, 0, 0, 0]])
    slice(1, 5, None)
    """
    columns = list(zip(*shares, strict=True))
    moving = [
        i
        for i, column in enumerate(columns)
        if not set(column) <= {0.0} and not set(column) <= {1.0}
    ]
    if not moving:
        return slice(0, len(columns))
    return slice(max(moving[0] - 1, 0), moving[-1] + 2)


def _array(values: Any) -> Any:
    """Turn null, which is undefined, into NaN."""
    return np.array([np.nan if v is None else v for v in values], dtype=float)


def _band(values: Any, part_of: slice = slice(None)) -> Any:
    array = _array(values or [])[part_of]
    return array if np.isfinite(array).any() else None


def aggregate_table(part: Mapping[str, Any], caption: str) -> Html:
    """Write the aggregates, n beside every interval; undefined numbers are dashes."""
    order = dict(ranked(part)) | dict(part.get("algorithms") or {})
    columns: dict[str, list[object]] = {
        "Algorithm": list(order),
        "n": [own.get("n", 0) for own in order.values()],
        "IQM": [number(own.get("iqm")) for own in order.values()],
        "95 % interval": [interval(own.get("interval")) for own in order.values()],
        "Mean": [number(own.get("mean")) for own in order.values()],
        "Median": [number(own.get("median")) for own in order.values()],
        "Optimality gap": [number(own.get("optimality_gap")) for own in order.values()],
    }
    if any(own.get("auc") is not None for own in order.values()):
        columns["Area under curve"] = [
            f"{number(own.get('auc'))} {interval(own.get('auc_interval'))}"
            for own in order.values()
        ]
    columns["Tokens"] = [_whole(own.get("tokens")) for own in order.values()]
    columns["Time"] = [duration(own.get("seconds")) for own in order.values()]
    if any(own.get("failed") for own in order.values()):
        columns["Failed"] = [len(own.get("failed") or ()) for own in order.values()]
    return table(caption, list(columns), list(zip(*columns.values(), strict=True)))


def _whole(value: Any) -> str:
    return "–" if value is None else f"{round(value):,}"


def task_table(parts: Mapping[str, Mapping[str, Any]]) -> Html:
    """Write every algorithm in every environment: IQM with interval, n, and the metric itself."""
    names = dict.fromkeys(a for part in parts.values() for a in part.get("algorithms") or {})
    heads = ["Algorithm", *(joined(env, _unit(part)) for env, part in parts.items())]
    rows = [[name, *(_task(part, name) for part in parts.values())] for name in names]
    refs = [["Metric of random, start, oracle", *(_reference_cell(p) for p in parts.values())]]
    caption = "By environment: normalised score with 95 % interval and n, under it the metric"
    return table(caption, heads, rows + refs, words=range(len(heads)))


def _unit(part: Mapping[str, Any]) -> Html:
    if "metric" not in part:
        return Html("")
    better = "higher" if part.get("higher_is_better") else "lower"
    return tag("div", f"{part['metric']}, {better} is better", class_="note")


def _task(part: Mapping[str, Any], name: str) -> Html:
    own = (part.get("algorithms") or {}).get(name) or {}
    if own.get("iqm") is None:
        return tag("td", "–", f" {len(own['failed'])} failed" if own.get("failed") else "")
    values = [v for v in own.get("values") or () if v is not None]
    raw = f"mean {number(sum(values) / len(values))} over {len(values)} runs" if values else ""
    text = f"{number(own['iqm'])} {interval(own.get('interval'))}, n = {own['n']}"
    return tag("td", text, tag("div", raw, class_="note"), class_="whole")


def _reference_cell(part: Mapping[str, Any]) -> Html:
    refs = part.get("references") or {}
    return tag("td", ", ".join(number(refs.get(k)) for k in ("random", "start", "oracle")))
