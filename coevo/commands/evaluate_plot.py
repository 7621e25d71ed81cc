"""The curve of a series of generations as a picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from coevo.benchmarks.suites.generations import Series
from coevo.trainers.run_folder import storage


def draw_generations(found: Series) -> Figure:
    """Draw the metric of every generation, and its points against earlier ones if it has any."""
    panels = 1 if found.ancestry is None else 2
    figure = Figure(figsize=(5.5 * panels, 4), layout="constrained")
    place = np.arange(len(found.names))
    axes = figure.add_subplot(1, panels, 1)
    values = np.array([s.value for s in found.scores], dtype=float)
    bounds = np.array(
        [s.interval or [v, v] for s, v in zip(found.scores, values, strict=True)], dtype=float
    )
    axes.errorbar(place, values, yerr=[values - bounds[:, 0], bounds[:, 1] - values], marker="o")
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
        each.grid(alpha=0.3)
    figure.suptitle(found.verdict, fontsize=10)
    return figure


def save_generations(found: Series, folder: Path) -> list[Path]:
    """Write the picture as PNG and SVG; give the paths."""
    figure, paths = draw_generations(found), [folder / f"generations.{k}" for k in ("png", "svg")]
    with matplotlib.rc_context({"svg.hashsalt": "coevo"}):
        for path in paths:
            with storage(path):
                figure.savefig(path, dpi=130)
    return paths
