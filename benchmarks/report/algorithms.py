"""Charts and numbers of one table of `comparison.json`: an environment, or all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coevo.benchmarks.measurement import RATES
from coevo.benchmarks.report.charts import Curves, Intervals, Line, Row
from coevo.benchmarks.report.formats import interval, number, tile

SCALE = "normalised score: 0 is random play, 1 the oracle"
ENDS = (("random", 0.0), ("oracle", 1.0))
"""Names and normalised scores of the references."""
INTERVALS_NOTE = (
    "Large dots: interquartile means over all runs. Bars: their 95 % bootstrap intervals. Small "
    "dots: single seeds, each the mean over its environments."
)
BAND_NOTE = "Interquartile means over n seeds, with pointwise 95 % bootstrap intervals."
PROFILE_NOTE = (
    "The share of runs that score above a threshold, with pointwise 95 % bootstrap intervals. "
    "Higher is better; where curves cross, the order is a matter of the threshold."
)
Part = Mapping[str, Any]
"""A table of `comparison.json`."""


def ranked(part: Part) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the algorithms that have a result, the best first."""
    own = [(a, t) for a, t in (part.get("algorithms") or {}).items() if t.get("iqm") is not None]
    return sorted(own, key=lambda pair: -pair[1]["iqm"])


def everyone(part: Part) -> dict[str, Mapping[str, Any]]:
    """Return the algorithms, the best first, those without a result at the end."""
    return dict(ranked(part)) | dict(part.get("algorithms") or {})


def rates(algorithms: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return how replies were read, rate -> head, as far as some algorithm has it."""
    return {
        k: h.capitalize() for k, h in RATES.items() if any(a.get(k) is not None for a in algorithms)
    }


def raw_mean(own: Mapping[str, Any]) -> str:
    found = [v for v in own.get("values") or () if v is not None]
    return f"mean {number(sum(found) / len(found))} over {len(found)} runs" if found else ""


def by_seed(part: Part) -> tuple[list[int], list[list[str]]]:
    """Return the seeds, and for every algorithm its name and final metrics by seed."""
    known = {
        a: dict(zip(own.get("seeds") or range(len(own["values"])), own["values"], strict=False))
        for a, own in (part.get("algorithms") or {}).items()
        if own.get("values")
    }
    seeds = sorted({seed for values in known.values() for seed in values})
    return seeds, [[a, *(number(v.get(seed), 4) for seed in seeds)] for a, v in known.items()]


# ---- Pairs -------------------------------------------------------------------------------------


def pairs(part: Part, only: str | None = None) -> list[Mapping[str, Any]]:
    """Return the compared pairs, those with one algorithm or all of them."""
    found = (p for p in part.get("comparisons") or () if only in (None, p["a"], p["b"]))
    return [better_first(pair) for pair in found]


def better_first(pair: Mapping[str, Any]) -> Mapping[str, Any]:
    """Turn a separated pair round so that the better one is first, as in its verdict."""
    if not pair.get("separated") or (pair.get("difference") or 0) >= 0:
        return pair
    chance = pair.get("improvement")
    return {
        **pair,
        "a": pair["b"],
        "b": pair["a"],
        "difference": -pair["difference"],
        "interval": _flipped(pair.get("interval"), 0),
        "improvement": None if chance is None else 1 - chance,
        "improvement_interval": _flipped(pair.get("improvement_interval"), 1),
    }


def _flipped(bounds: Any, whole: float) -> Any:
    return bounds and [None if b is None else whole - b for b in bounds[::-1]]


def improvements(part: Part) -> list[list[dict[str, Any]]]:
    """Return how likely a run of the row beats one of the column, as coloured cells."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for pair in part.get("comparisons") or ():
        chance, better = pair.get("improvement"), pair["difference"] > 0
        bounds = pair.get("improvement_interval")
        found[pair["a"], pair["b"]] = _chance(chance, bounds, pair, better)
        back = None if chance is None else 1 - chance
        found[pair["b"], pair["a"]] = _chance(back, _flipped(bounds, 1), pair, not better)
    names = [name for name, _ in ranked(part)]
    nothing = tile("·", None, 0, 0)
    return [[found.get((a, b), nothing) for b in names] for a in names] if found else []


def _chance(
    chance: float | None, bounds: Any, pair: Mapping[str, Any], better: bool
) -> dict[str, Any]:
    separated = bool(pair.get("separated"))
    mark = (" ▲" if better else " ▼") if separated else ""
    small = [interval(bounds, 2), f"n = {pair.get('n', '?')}"]
    # Where nothing is shown, the colour must not look as if something were.
    return tile(number(chance, 2) + mark, chance, 0.5, 0.5 if separated else 1.5, small)


# ---- Charts ------------------------------------------------------------------------------------


def aggregate_chart(
    part: Part, colours: Mapping[str, int], name: str, title: str
) -> Intervals | None:
    rows = tuple(
        Row(
            algorithm,
            own["iqm"],
            own.get("interval"),
            tuple(own.get("scores") or ()),
            colours[algorithm],
            f"n = {own['n']}",
        )
        for algorithm, own in ranked(part)
    )
    if not rows:
        return None
    marks = _references(part, rows)
    return Intervals(name=name, title=title, x_label=SCALE, rows=rows, marks=marks)


def _references(part: Part, rows: Sequence[Row]) -> tuple[tuple[str, float], ...]:
    shown = [v for row in rows for v in (row.centre, *row.bounds, *row.points)]
    low, high = min(shown), max(shown)
    room = 0.35 * max(high - low, 0.05)
    places = dict(ENDS) | _start(part)
    return tuple((k, v) for k, v in places.items() if low - room <= v <= high + room)


def _start(part: Part) -> dict[str, float]:
    refs = part.get("references") or {}
    at, low, high = (refs.get(k) for k in ("start", "random", "oracle"))
    if at is None or low is None or high is None or low == high:
        return {}
    return {"start": (at - low) / (high - low)}


def curve_chart(part: Part, colours: Mapping[str, int], name: str, title: str) -> Curves | None:
    curve = part.get("curve")
    if not curve or not curve.get("algorithms"):
        return None
    over = curve.get("by", "tokens")
    own = curve["algorithms"].items()
    return Curves(
        name=name,
        title=title + runs_behind(part),
        unit="normalised score",
        x_label="sampled tokens" if over == "tokens" else over,
        lines=tuple(_banded(a, curve[over], t, "iqm", colours[a]) for a, t in own),
        marks=ENDS,
    )


def profile_chart(part: Part, colours: Mapping[str, int], name: str, title: str) -> Curves | None:
    """Draw the share of runs above every score, where the shares change."""
    profile = part.get("profile")
    if not profile or not profile.get("algorithms"):
        return None
    own = sorted(profile["algorithms"].items(), key=lambda pair: -sum(pair[1]["share"]))
    seen = _changing([t["share"] for _, t in own])
    return Curves(
        name=name,
        title=title + runs_behind(part),
        unit="share of runs above it",
        x_label="normalised score",
        lines=tuple(
            _banded(a, profile["thresholds"], t, "share", colours[a], seen) for a, t in own
        ),
        y_range=(0.0, 1.0),
        percent=True,
        ordered=True,
        from_zero=False,
    )


def _banded(
    label: str, x: Any, own: Part, key: str, colour: int, seen: slice = slice(None)
) -> Line:
    """Return a curve with its interval, as far as it is known; null, undefined, becomes NaN."""
    y, low, high = (np.array(own.get(k) or [], dtype=float)[seen] for k in (key, "low", "high"))
    if not (np.isfinite(low).any() and np.isfinite(high).any()):
        return Line(label, x[seen], y, colour)
    return Line(label, x[seen], y, colour, low, high)


def runs_behind(part: Part) -> str:
    """Say over how many seeds a chart is."""
    counts = sorted({own["n"] for own in (part.get("algorithms") or {}).values() if own.get("n")})
    return f", n = {' to '.join(map(str, {counts[0]: 0, counts[-1]: 0}))}" if counts else ""


def _changing(shares: Sequence[Sequence[float]]) -> slice:
    """Leave out the thresholds that all runs pass or none does, but one on each side."""
    columns = [set(column) for column in zip(*shares, strict=True)]
    moving = [i for i, column in enumerate(columns) if column not in ({0.0}, {1.0})]
    if not moving:
        return slice(0, len(columns))
    return slice(max(moving[0] - 1, 0), moving[-1] + 2)
