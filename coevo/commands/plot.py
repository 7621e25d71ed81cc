"""The picture that a run leaves behind: four charts of its report on one sheet."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from coevo.benchmarks.report.charts import STYLE, place, saved
from coevo.benchmarks.report.panels import Curves
from coevo.benchmarks.report.run_panels import (
    SMOOTH_NOTE,
    Colours,
    endings_panel,
    entropy_panel,
    returns_panel,
    rewards_panel,
    score_panel,
)
from coevo.benchmarks.report.series import from_lines
from coevo.benchmarks.report.strokes import INK, MUTED, SMALL
from coevo.trainers.run_folder import storage

SHOWN = 4
"""Charts on the sheet."""
GAP, HEAD = 20.0, 40.0
"""Room between charts, and for the title over them."""


def draw(metrics: Sequence[Mapping[str, Any]], title: str, start: float | None) -> Figure:
    """Draw exploitability, return per seat, endings, entropy and rewards, the first four there are.

    Args:
        metrics: lines of `metrics.jsonl`.
        title: over everything.
        start: exploitability before training, if known.
    """
    series, colours = from_lines(metrics), Colours()
    panels = [
        score_panel(series, "exploitability", start),
        returns_panel(series, colours),
        endings_panel(series, colours),
        entropy_panel(series, colours),
        rewards_panel(series, colours),
    ]
    return _sheet([panel for panel in panels if panel is not None][:SHOWN], title)


def _sheet(panels: Sequence[Curves], title: str) -> Figure:
    """Put charts two by two."""
    width, height = Curves("", "", "", "", ()).size
    wide, high = 2 * width + 3 * GAP, HEAD + 2 * (height + GAP)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(wide / 72, high / 72), dpi=72)
        text: dict[str, Any] = {"va": "top", "color": INK}
        figure.text(GAP / wide, 1 - 12 / high, title, size=SMALL + 4, weight="bold", **text)
        text = {"va": "top", "ha": "right", "color": MUTED}
        figure.text(1 - GAP / wide, 1 - 14 / high, SMOOTH_NOTE, size=SMALL, **text)
        for (row, column), panel in zip(itertools.product((0, 1), (0, 1)), panels, strict=False):
            left = GAP + column * (width + GAP)
            bottom = high - HEAD - (row + 1) * height - row * GAP
            place(figure, panel, (left, bottom), (wide, high))
    return figure


def save(figure: Figure, folder: Path) -> list[Path]:
    """Write a figure as PNG and SVG; give the paths."""
    paths = [folder / f"learning_curve.{kind}" for kind in ("png", "svg")]
    with matplotlib.rc_context(STYLE):
        for path in paths:
            with storage(path):
                path.write_bytes(saved(figure, path.suffix.removeprefix(".")))
    return paths
