"""Charts as files (SVG, PNG), and as SVG inside of the page that takes the page's colours."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from coevo.benchmarks.report.markup import Html, escaped
from coevo.benchmarks.report.panels import Chart
from coevo.benchmarks.report.strokes import GRID, INK, MUTED, PAPER, SERIES, SMALL

DOTS = 160
"""Pixels of a PNG per 72 pixels of the drawing."""
NAMED = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--grid)",
    PAPER: "var(--paper)",
    **{colour: f"var(--series-{i})" for i, colour in enumerate(SERIES)},
}
"""Colour of the drawing -> colour of the page, which knows light and dark."""
STYLE: Any = {
    "svg.hashsalt": "coevo",
    "svg.fonttype": "none",
    "font.size": SMALL,
    "axes.labelcolor": MUTED,
    "axes.labelsize": SMALL,
    "axes.facecolor": "none",
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "text.color": INK,
    "lines.solid_capstyle": "round",
}


@dataclass(frozen=True)
class Drawn:
    """A chart in its three forms."""

    name: str
    svg: bytes
    png: bytes
    inline: Html


def render(chart: Chart) -> Drawn:
    """Draw a chart; equal charts give equal bytes."""
    width, height = chart.size
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width / 72, height / 72), dpi=72)
        place(figure, chart)
        svg, png = saved(figure, "svg"), saved(figure, "png")
    return Drawn(chart.name, svg, png, inline(svg.decode(), chart.name, chart.title))


def place(
    figure: Figure,
    chart: Chart,
    corner: tuple[float, float] = (0.0, 0.0),
    sheet: tuple[float, float] | None = None,
) -> None:
    """Draw a chart on a figure, or somewhere on a sheet with several.

    Args:
        figure: of the size of the chart, or of the sheet.
        chart: what to draw.
        corner: where its lower left corner is.
        sheet: size of the figure; None is that of the chart.
    """
    (width, height), (left, right, top, bottom) = chart.size, chart.margins
    (x, y), (wide, high) = corner, sheet or chart.size
    inner = (width - left - right) / wide, (height - top - bottom) / high
    axes = figure.add_axes(((x + left) / wide, (y + bottom) / high, *inner))
    begin, over = (x + 2) / wide, (y + height) / high
    figure.text(begin, over - 3 / high, chart.title, va="top", weight="bold", size=SMALL + 2)
    figure.text(begin, over - 21 / high, chart.unit, va="top", color=MUTED)
    chart.draw(axes)


def saved(figure: Figure, kind: str) -> bytes:
    """Give the bytes of a figure as `svg` or `png`, without a date."""
    stream = io.BytesIO()
    dated = {"Date": None} if kind == "svg" else None
    figure.savefig(stream, format=kind, dpi=72 if kind == "svg" else DOTS, metadata=dated)
    return stream.getvalue()


def write(drawn: Iterable[Drawn], folder: Path) -> list[Path]:
    """Write the files of charts; give their paths."""
    paths = []
    for chart in drawn:
        folder.mkdir(parents=True, exist_ok=True)
        for kind, data in (("svg", chart.svg), ("png", chart.png)):
            path = folder / f"{chart.name}.{kind}"
            path.write_bytes(data)
            paths.append(path)
    return paths


# ---- Inside of the page ------------------------------------------------------------------------

_DROPPED = re.compile(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", re.DOTALL)
_FONT = re.compile(r"font-family:[^;\"]*;?|font: ([\d.]+px)[^;\"]*", re.DOTALL)
_ID = re.compile(r'\bid="([^"]+)"')
_USED = re.compile(r'(url\(#|href="#)([^")]+)')
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_HEAD = re.compile(r"<svg[^>]*?viewBox=\"([^\"]+)\"[^>]*>", re.DOTALL)


def inline(svg: str, name: str, title: str) -> Html:
    """Turn an SVG file into a part of the page: its fonts and colours, names of its own."""
    body = _DROPPED.sub("", svg[svg.index("<svg") :])
    body = _FONT.sub(lambda m: f"font-size: {m[1]}" if m[1] else "", body)
    body = _COLOUR.sub(lambda m: NAMED.get(m[0], m[0]), body)
    used = {m[2] for m in _USED.finditer(body)}
    body = _ID.sub(lambda m: _named(m[1], name, used), body)
    body = _USED.sub(lambda m: f"{m[1]}{name}-{m[2]}", body)
    head = _HEAD.match(body)
    if head is None:
        raise ValueError(f"matplotlib drew no picture for {name}")
    start = f'<svg class="chart" role="img" aria-label="{escaped(title)}" viewBox="{head[1]}">'
    return Html(start + body[head.end() :].strip())


def _named(identity: str, chart: str, used: set[str]) -> str:
    """Keep a name that something refers to, turn that of a curve into a mark, drop the others."""
    if identity.startswith("series-"):
        return f'class="series" data-series="{identity.removeprefix("series-")}"'
    return f'id="{chart}-{identity}"' if identity in used else ""
