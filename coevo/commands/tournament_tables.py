"""The results of a tournament for people: sentences, heat tables, ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from coevo.commands.screen import Screen, share
from coevo.envs.core.quoting import visible

LOW, MIDDLE, HIGH = (230, 140, 60), (235, 235, 235), (90, 150, 220)
"""Orange over grey to blue: seen apart with any kind of colour vision."""
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
        screen.print(heat_table(found, "mean_return", "mean return of row against column"))
    if found["contest"]:
        screen.print(heat_table(found, "points", "% of points of row against column"))
    screen.table("agents, best first", *_results(found))
    if found["ratings"]:
        screen.table("ratings", *_ratings(found))
        screen.table(_sweep_title(found), *_sweep(found))


def heat_table(found: Mapping[str, Any], key: str, title: str) -> Table:
    """Draw a matrix with a colour behind every number."""
    agents = found["matrix"]["agents"]
    rows = found["matrix"][key]
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("", no_wrap=True)
    for name in agents:
        table.add_column(visible(name), justify="center", overflow="fold")
    scale = _scale(rows, key, found["contest"])
    for name, row in zip(agents, rows, strict=True):
        table.add_row(Text(visible(name)), *(_heat_cell(x, key, scale, len(agents)) for x in row))
    return table


def _scale(rows: Sequence[Sequence[Any]], key: str, contest: bool) -> tuple[float, float]:
    """Return the values of the two ends of the colours; a contest is even in their middle."""
    if key == "points":
        return 0.0, 1.0
    seen = [x[1] for row in rows for x in row if x is not None] or [0.0]
    if contest:
        most = max(map(abs, seen)) or 1.0
        return -most, most
    return min(seen), max(max(seen), min(seen) + 1e-9)


def _heat_cell(
    value: Sequence[float | None] | None, key: str, scale: tuple[float, float], agents: int
) -> Text:
    low, point, high = value or (None, None, None)
    if point is None:
        return Text("-")
    at = (point - scale[0]) / (scale[1] - scale[0])
    text = _number(point, key)
    if agents <= WIDE and low is not None and high is not None:
        text += f" [{_number(low, key)}, {_number(high, key)}]"
    return Text(text, style=f"black on rgb({','.join(map(str, colour(at)))})")


def _number(value: float, key: str) -> str:
    return f"{100 * value:.0f}" if key == "points" else f"{value:+.2f}"


def colour(at: float) -> tuple[int, int, int]:
    """Return red, green and blue of a place between 0 and 1.

    >>> colour(0.0), colour(0.5), colour(1.0)
    ((230, 140, 60), (235, 235, 235), (90, 150, 220))
    """
    at = min(max(at, 0.0), 1.0)
    ends = (LOW, MIDDLE) if at < 0.5 else (MIDDLE, HIGH)
    way = 2 * at if at < 0.5 else 2 * at - 1
    red, green, blue = (round(a + (b - a) * way) for a, b in zip(*ends, strict=True))
    return red, green, blue


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
