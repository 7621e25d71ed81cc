"""The learning curves of a run as a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from coevo.trainers.run_folder import storage

SMOOTHED = 20
"""Points of a curve over which its line is averaged."""
Curve = list[tuple[int, float]]


def draw(metrics: Sequence[Mapping[str, Any]], title: str, start: float | None) -> Figure:
    """Draw exploitability, return per seat, forfeit rate and entropy over the updates.

    Args:
        metrics: lines of `metrics.jsonl`.
        title: over everything.
        start: exploitability before training, if known.
    """
    exploited = ([(0, start)] if start is not None else []) + curve(metrics, "exploitability")
    panels: list[Callable[[Axes], None]] = [
        lambda axes: _returns(axes, metrics),
        lambda axes: _forfeits(axes, metrics),
        lambda axes: _entropy(axes, metrics),
    ]
    if len(exploited) > 1:
        panels.insert(0, lambda axes: _exploitability(axes, exploited))
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    figure.suptitle(title)
    for place, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(2, 2, place)
        panel(axes)
        axes.set_xlabel("update")
        axes.grid(alpha=0.3)
    return figure


def save(figure: Figure, folder: Path) -> list[Path]:
    """Write a figure as PNG and SVG; give the paths."""
    paths = [folder / f"learning_curve.{kind}" for kind in ("png", "svg")]
    with matplotlib.rc_context({"svg.hashsalt": "coevo"}):
        for path in paths:
            with storage(path):
                figure.savefig(path, dpi=130)
    return paths


def curve(metrics: Sequence[Mapping[str, Any]], name: str) -> Curve:
    """Give (update, value) wherever a metric was measured."""
    return [(line["step"], line[name]) for line in metrics if line.get(name) is not None]


def smooth(values: Sequence[float], width: int = SMOOTHED) -> np.ndarray:
    """Average every value with those before it, `width` in all.

    >>> smooth([1.0, 3.0, 5.0], width=2).tolist()
    [1.0, 2.0, 4.0]
    """
    total = np.concatenate([[0.0], np.cumsum(values)])
    end = np.arange(1, len(values) + 1)
    begin = np.maximum(end - width, 0)
    return np.asarray((total[end] - total[begin]) / (end - begin))


def _line(axes: Axes, points: Curve, label: str, scale: float = 1.0) -> None:
    """Draw a noisy curve: the values pale, their running mean strong."""
    if not points:
        return
    steps, values = zip(*points, strict=True)
    scaled = scale * np.asarray(values)
    mean = axes.plot(steps, smooth(scaled.tolist()), label=label, linewidth=1.8)[0]
    axes.plot(steps, scaled, color=mean.get_color(), alpha=0.25, linewidth=0.8)
    if len(points) == 1:
        mean.set_marker("o")


def _exploitability(axes: Axes, points: Curve) -> None:
    steps, values = zip(*points, strict=True)
    axes.plot(steps, values, marker="o", markersize=3, color="tab:red")
    axes.set_ylim(0, max(values) * 1.1 + 1e-3)
    axes.set_title("Exploitability (0 cannot be beaten)")
    axes.set_ylabel("payoff per play")


def _returns(axes: Axes, metrics: Sequence[Mapping[str, Any]]) -> None:
    for name in dict.fromkeys(k for line in metrics for k in line if k.startswith("return/")):
        _line(axes, curve(metrics, name), name.removeprefix("return/"))
    axes.set_title(f"Return per seat (mean of {SMOOTHED} updates)")
    axes.set_ylabel("payoff per play")
    axes.legend()


def _forfeits(axes: Axes, metrics: Sequence[Mapping[str, Any]]) -> None:
    _line(axes, curve(metrics, "forfeit_rate"), "forfeits", scale=100)
    axes.set_ylim(0, max(1.0, 1.05 * axes.get_ylim()[1]))
    axes.set_title("Plays ended by an illegal reply")
    axes.set_ylabel("% of plays")


def _entropy(axes: Axes, metrics: Sequence[Mapping[str, Any]]) -> None:
    names = dict.fromkeys(k for line in metrics for k in line if k.rpartition("/")[2] == "entropy")
    for name in names:
        _line(axes, curve(metrics, name), name.rpartition("/")[0] or "policy")
    axes.set_ylim(bottom=0)
    axes.set_title("Entropy of the policy")
    axes.set_ylabel("nats per token")
    if len(names) > 1:
        axes.legend()
