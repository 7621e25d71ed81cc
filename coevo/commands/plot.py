"""Figures that commands write: of a run, and of a series of generations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from coevo.benchmarks.report.charts import SIZE
from coevo.benchmarks.report.curves import from_lines
from coevo.benchmarks.report.gallery import saved
from coevo.benchmarks.report.style import MUTED, STYLE
from coevo.benchmarks.report.training import SMOOTH_NOTE, run_charts
from coevo.benchmarks.suites.generations import GenerationSeries
from coevo.trainers.files import storage

SHOWN = ("exploitability", "returns", "endings", "entropy", "rewards")
"""Charts of a run in its picture: the first four that there are."""
HEAD = 32.0


def draw_run(metrics: Sequence[Mapping[str, Any]], title: str, start: float | None) -> Figure:
    known = {c.name: c for c in run_charts(from_lines(metrics), {"exploitability": start}, {})}
    charts = [known[name] for name in SHOWN if name in known][:4]
    width, height = 2 * SIZE[0], 2 * SIZE[1] + HEAD
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width / 72, height / 72), dpi=72, layout="constrained")
        figure.suptitle(title, x=0.006, ha="left", fontsize=15)
        figure.text(0.994, 0.99, SMOOTH_NOTE, va="top", ha="right", color=MUTED)
        parts: Any = figure.subfigures(2, 2)
        for part, chart in zip(parts.flat, charts, strict=False):
            chart.draw(part)
    return figure


def draw_generations(found: GenerationSeries) -> Figure:
    panels = 1 if found.ancestry is None else 2
    place = np.arange(len(found.names))
    values = np.array([s.value for s in found.scores], dtype=float)
    bounds = np.array(
        [s.interval or (v, v) for s, v in zip(found.scores, values, strict=True)], dtype=float
    )
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(5.5 * panels, 4), layout="constrained")
        axes = figure.add_subplot(1, panels, 1)
        spread = [values - bounds[:, 0], bounds[:, 1] - values]
        axes.errorbar(place, values, yerr=spread, marker="o")
        axes.set_ylabel(found.scores[0].metric)
        if found.ancestry is not None:
            points = figure.add_subplot(1, panels, 2)
            for label in ("previous", "mean", "worst"):
                points.plot(place, getattr(found.ancestry, label), marker="o", label=label)
            points.axhline(0.5, color="grey", linewidth=0.8)
            points.set_ylabel("share of the payoff against earlier ones")
            points.legend()
        for each in figure.axes:
            each.set_xticks(place, found.names, rotation=30, ha="right")
            each.grid()
        figure.suptitle(found.verdict, fontsize=10)
    return figure


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG, and return the paths."""
    paths = [folder / f"{name}.{kind}" for kind in ("png", "svg")]
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        for path in paths:
            with storage(path):
                path.write_bytes(saved(figure, path.suffix.removeprefix(".")))
    return paths
