"""The results of a tournament for people: sentences, matrices, ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coevo.commands.screen import Screen, share

WIDE = 6
"""Most agents whose matrix has room for bounds."""


def show(found: Mapping[str, Any], screen: Screen) -> None:
    """Print everything that `tournament.json` says, the findings first."""
    for sentence in found["headline"]:
        screen.say(sentence)
    screen.say()
    for result in found["results"]:
        screen.say(f"  {result['text']}")
    screen.say()
    if not found["only_points"]:
        screen.table("mean return of row against column", *matrix(found, "mean_return"))
    if found["contest"]:
        screen.table("% of points of row against column", *matrix(found, "points"))
    screen.table("agents, best first", *_results(found))
    if found["ratings"]:
        screen.table("ratings", *_ratings(found))
        screen.table(_sweep_title(found), *_sweep(found))


def matrix(found: Mapping[str, Any], key: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return columns and rows of row against column: `points` in percent, or `mean_return`."""
    agents = found["matrix"]["agents"]
    pairs = zip(agents, found["matrix"][key], strict=True)
    return ("", *agents), [
        (name, *(_cell(x, key, len(agents)) for x in row)) for name, row in pairs
    ]


def _cell(value: Sequence[float | None] | None, key: str, agents: int) -> str:
    low, point, high = value or (None, None, None)
    if point is None:
        return "-"
    if agents > WIDE or low is None or high is None:
        return _number(point, key)
    return f"{_number(point, key)} [{_number(low, key)}, {_number(high, key)}]"


def _number(value: float, key: str) -> str:
    return f"{100 * value:.0f}" if key == "points" else f"{value:+.2f}"


def _results(found: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    contest, values = found["contest"], (found["exploitability"] or {}).get("agents", {})
    columns = ["agent", "episodes", "errors", "mean return"]
    columns += ["points", "won", "drawn", "lost"] if contest else []
    columns += ["forfeited", "illegal replies", "cut off"]
    columns += ["exploitability"] if values else []
    rows = []
    for name in found["agents"]:
        own = found["table"][name]
        row = [name, own["episodes"], own["errors"], between(own["mean_return"])]
        if contest:
            row += [between(own["points"]), *(share(own[k]) for k in ("won", "drawn", "lost"))]
        rates = ("forfeit_rate", "illegal_rate", "truncated_rate")
        row += [share(own[k]) for k in rates]
        row += [exploited(values[name])] if values else []
        rows.append(tuple(row))
    return tuple(columns), rows


def between(value: Sequence[float | None] | None) -> str:
    """Write an estimate with its bounds.

    >>> between([0.1, 0.25, 0.4]), between([None, 0.25, None]), between(None)
    ('0.25 [0.10, 0.40]', '0.25', '-')
    """
    if value is None or value[1] is None:
        return "-"
    bounds = "" if value[0] is None else f" [{value[0]:.2f}, {value[2]:.2f}]"
    return f"{value[1]:.2f}{bounds}"


def exploited(value: Mapping[str, Any]) -> str:
    """Write what a best response gains, with what kind of number it is.

    >>> exploited({"exact": None, "exploiter": {"score": 0.3, "gain": 0.3}})
    'at least 0.3000'
    """
    exact, trained = value["exact"], value["exploiter"]
    if exact is not None:
        if exact["exploitability"] is None:
            return f"{exact['nash_conv']:.4f} (NashConv)"
        return f"{exact['exploitability']:.4f} exact"
    if trained is None or trained["score"] is None:
        return "-"
    return f"at least {trained['gain']:.4f}"


def _ratings(found: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    rated = found["ratings"]
    shares = rated["alpha_rank"]["limit"]
    elo = rated.get("bradley_terry", {}).get("agents", {})
    belief = rated.get("plackett_luce", {}).get("agents", {})
    nash = rated.get("nash_averaging", {}).get("margin", {})
    columns = ["agent"] + (["Elo (Bradley-Terry)", "OpenSkill mu - 3 sigma"] if elo else [])
    columns += ["alpha-Rank, infinite alpha"] + (["Nash weight", "Nash skill"] if nash else [])
    rows = []
    for name in (n for n in found["agents"] if n in shares):
        row: list[object] = [name]
        if elo:
            low, high = elo[name]["interval"]
            row += [
                f"{elo[name]['rating']:.0f} [{low:.0f}, {high:.0f}]",
                f"{belief[name]['ordinal']:.2f} ({belief[name]['mu']:.2f} ± "
                f"{belief[name]['sigma']:.2f})",
            ]
        low, high = shares[name]["interval"]
        row.append(f"{shares[name]['share']:.3f} [{low:.3f}, {high:.3f}]")
        if nash:
            own = nash[name]
            row += [f"{own['weight']:.3f}", between(_around(own["interval"], own["skill"]))]
        rows.append(tuple(row))
    return tuple(columns), rows


def _around(interval: Sequence[float] | None, point: float) -> list[float | None]:
    low, high = interval or (None, None)
    return [low, point, high]


def _sweep_title(found: Mapping[str, Any]) -> str:
    ranked = found["ratings"]["alpha_rank"]
    last = f"the last stable is {ranked['last']['alpha']:.3g}"
    return f"alpha-Rank over alpha; {last if ranked['settled'] else 'not settled'}"


def _sweep(found: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    swept = found["ratings"]["alpha_rank"]["sweep"]
    columns = ("agent", *(f"{step['alpha']:.2g}" for step in swept))
    names = [n for n in found["agents"] if n in swept[0]["shares"]]
    return columns, [(n, *(f"{step['shares'][n]:.3f}" for step in swept)) for n in names]
