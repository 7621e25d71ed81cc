"""Charts as files, and as SVG inside of the page in the colours of the page."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from coevo.benchmarks.report.charts import Chart
from coevo.benchmarks.report.style import NAMED, STYLE
from coevo.trainers.files import storage

DOTS = 160


@dataclass
class Gallery:
    """Draws charts for the page and keeps them for the files beside it."""

    files: dict[str, bytes] = field(default_factory=dict)

    def show(self, *charts: Chart | None) -> list[tuple[Markup, str]]:
        """Draw charts, those that are not None; return each for the page, with its note."""
        drawn = [(chart, self.keep(chart)) for chart in charts if chart is not None]
        return [(inline(svg.decode(), chart.title), chart.note) for chart, svg in drawn]

    def keep(self, chart: Chart) -> bytes:
        """Draw a chart for its files, and return its SVG; equal charts give equal bytes."""
        with matplotlib.rc_context({**STYLE, "svg.hashsalt": chart.name}):
            width, height = chart.size
            figure = Figure(figsize=(width / 72, height / 72), dpi=72, layout="constrained")
            chart.draw(figure)
            for kind in ("svg", "png"):
                self.files[f"{chart.name}.{kind}"] = saved(figure, kind)
        return self.files[f"{chart.name}.svg"]

    def write(self, folder: Path) -> list[Path]:
        if self.files:
            folder.mkdir(parents=True, exist_ok=True)
        for name, data in self.files.items():
            with storage(folder / name):
                (folder / name).write_bytes(data)
        return [folder / name for name in self.files]


def saved(figure: Figure, kind: str) -> bytes:
    """Return the bytes of a figure as `svg` or `png`, without a date."""
    stream = io.BytesIO()
    dated = {"Date": None} if kind == "svg" else None
    figure.savefig(stream, format=kind, dpi=72 if kind == "svg" else DOTS, metadata=dated)
    return stream.getvalue()


_DROPPED = re.compile(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", re.DOTALL)
_FONT = re.compile(r"font-family:[^;\"]*;?|font: ([\d.]+px)[^;\"]*", re.DOTALL)
_ID = re.compile(r'\bid="([^"]+)"')
_USED = re.compile(r'(?:url\(#|href="#)([^")]+)')
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_HEAD = re.compile(r"<svg[^>]*?viewBox=\"([^\"]+)\"[^>]*>", re.DOTALL)


def inline(svg: str, title: str) -> Markup:
    """Turn an SVG file into a part of the page, in its fonts and colours.

    A name that something refers to stays, that of a curve becomes a mark, and the others go.
    """
    body = _DROPPED.sub("", svg[svg.index("<svg") :])
    body = _FONT.sub(lambda m: f"font-size: {m[1]}" if m[1] else "", body)
    body = _COLOUR.sub(lambda m: NAMED.get(m[0], m[0]), body)
    used = set(_USED.findall(body))

    def named(match: re.Match[str]) -> str:
        if match[1].startswith("series-"):
            return f'class="series" data-series="{match[1].removeprefix("series-")}"'
        return match[0] if match[1] in used else ""

    body = _ID.sub(named, body)
    head = _HEAD.match(body)
    if head is None:
        raise ValueError(f"matplotlib drew no picture for {title}")
    start = f'<svg class="chart" role="img" aria-label="{escape(title)}" viewBox="{head[1]}">'
    return Markup(start + body[head.end() :].strip())
