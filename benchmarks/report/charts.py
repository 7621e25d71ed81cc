"""Charts of the report, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike

from coevo.benchmarks.report.style import (
    DASHES,
    INK,
    MUTED,
    PAPER,
    SERIES,
    series_id,
    stroke,
)

SIZE = (390.0, 245.0)
"""Width and height of a chart, 72 to the inch."""
LABELLED = 16
"""Most curves that are labelled."""
DOTTED = 24
"""Curves of fewer points show each of them."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What every chart has."""

    name: str
    """Name of its file."""
    title: str
    unit: str = ""
    note: str = ""
    """How it is to be read."""

    @property
    def size(self) -> tuple[float, float]:
        return SIZE

    def draw(self, figure: Figure | SubFigure) -> None:
        """Draw it with its title on an empty figure of its size."""
        figure.suptitle(f"{self.title}\n", x=0.006, ha="left")
        under = 1 - 20 / self.size[1]
        figure.text(0.006, under, self.unit, va="top", color=MUTED)
        self.fill(figure.add_subplot())

    def fill(self, axes: Axes) -> None:
        """Draw what it shows."""
        raise NotImplementedError  # abstract


# ---- Curves ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One curve."""

    label: str
    x: ArrayLike
    y: ArrayLike
    colour: int = -1
    """Number in the palette; -1 draws it in ink."""
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    """Bounds of an interval around it."""
    faint: ArrayLike | None = None
    """Values that the curve is the running mean of."""

    def draw(self, axes: Axes, *, dots: bool) -> None:
        """Draw the interval, the single values and the curve."""
        look: Any = {"color": stroke(self.colour), "gid": series_id(self.colour)}
        if self.low is not None and self.high is not None:
            low, high = np.asarray(self.low, dtype=float), np.asarray(self.high, dtype=float)
            axes.fill_between(self.x, low, high, alpha=0.14, linewidth=0, **look)
        if self.faint is not None:
            axes.plot(self.x, self.faint, alpha=0.28, linewidth=0.8, **look)
        look["linestyle"] = DASHES[max(self.colour, 0) // len(SERIES) % len(DASHES)]
        marker = "o" if dots else None
        drawn = axes.plot(
            self.x, self.y, linewidth=1.8, marker=marker, markersize=3.2, label=self.label, **look
        )
        drawn[0].set_clip_on(False)  # a line along the edge of the axes keeps its width


@dataclass(frozen=True, kw_only=True)
class Curves(Chart):
    """Curves over a common axis."""

    x_label: str
    lines: tuple[Line, ...]
    y_range: tuple[float | None, float | None] = (None, None)
    marks: tuple[tuple[str, float], ...] = ()
    """Names and heights of reference lines."""
    percent: bool = False
    from_zero: bool = True
    ordered: bool = False
    """Whether names are listed in the order of the lines, and not of their ends."""

    def fill(self, axes: Axes) -> None:
        axes.grid(axis="y", linewidth=0.8)
        for line in self.lines:
            line.draw(axes, dots=np.size(line.x) <= DOTTED and not self.ordered)
        self._limit(axes)
        for label, height in self.marks:
            _mark(axes, label, height)
        axes.set_xlabel(self.x_label)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=self.x_label == "updates"))
        if axes.get_xlim()[1] >= 1000:
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        if self.percent:
            axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:g} %"))
        if len(self.lines) > 1:
            self._name(axes)

    def _limit(self, axes: Axes) -> None:
        filled = [np.asarray(line.x, dtype=float) for line in self.lines if np.size(line.x)]
        left, right = min(x.min() for x in filled), max(x.max() for x in filled)
        axes.set_xlim(min(left, 0.0) if self.from_zero else left, max(right, left + 1e-9))
        low, high = axes.get_ylim()
        floor, ceiling = self.y_range
        low, high = low if floor is None else floor, high if ceiling is None else ceiling
        axes.set_ylim(low, high if high > low else low + 1.0)

    def _name(self, axes: Axes) -> None:
        """List names in the colours of their curves, in the order in which the curves end."""
        handles = {line.get_label(): line for line in axes.get_lines()}
        lines = [line for line in self.lines[:LABELLED] if np.size(line.x)]
        if not self.ordered:
            lines.sort(key=lambda line: -np.nan_to_num(np.asarray(line.y, dtype=float)[-1]))
        legend = axes.legend(
            [handles[line.label] for line in lines],
            [line.label for line in lines],
            loc="upper left",
            bbox_to_anchor=(1.01, 1.06),
            labelcolor="linecolor",
        )
        for line, text in zip(lines, legend.get_texts(), strict=True):
            text.set_gid(series_id(line.colour))


def _mark(axes: Axes, label: str, height: float) -> None:
    low, high = axes.get_ylim()
    if not low <= height <= high:
        return
    axes.axhline(height, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    above = height < high - 0.08 * (high - low)
    axes.annotate(
        label,
        (0, height),
        xycoords=("axes fraction", "data"),
        xytext=(3, 2 if above else -2),
        textcoords="offset points",
        va="bottom" if above else "top",
        color=MUTED,
    )


# ---- Rows with intervals ------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One row of an interval plot."""

    label: str
    centre: float
    interval: Sequence[float | None] | None = None
    points: Sequence[float] = ()
    """Single results behind the centre."""
    colour: int = -1
    detail: str = ""
    """Written at the right end."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval; the centre where it has none."""
        low, high = self.interval or (None, None)
        return (self.centre, self.centre) if low is None or high is None else (low, high)

    def draw(self, axes: Axes, place: int) -> None:
        """Draw the single results, the interval and the centre."""
        look: Any = {"color": stroke(self.colour), "gid": series_id(self.colour)}
        axes.scatter(self.points, [place] * len(self.points), s=13, alpha=0.3, linewidths=0, **look)
        axes.plot(self.bounds, [place, place], linewidth=2.4, **look)
        axes.plot([self.centre], [place], "o", markersize=7, markeredgecolor=PAPER, **look)
        beside = axes.get_yaxis_transform()
        axes.text(1.02, place, self.detail, transform=beside, va="center", color=MUTED)


@dataclass(frozen=True, kw_only=True)
class Intervals(Chart):
    """A centre with its interval per row, over the single results."""

    x_label: str
    rows: tuple[Row, ...]
    marks: tuple[tuple[str, float], ...] = ()
    """Names and places of reference lines."""

    @property
    def size(self) -> tuple[float, float]:
        return SIZE[0], 96 + 24 * (len(self.rows) + bool(self.marks))

    def fill(self, axes: Axes) -> None:
        axes.grid(axis="x", linewidth=0.8)
        axes.spines["bottom"].set_visible(False)
        for place, row in enumerate(self.rows):
            row.draw(axes, place)
        for label, at in self.marks:
            axes.axvline(at, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
            side = "right" if at > sum(axes.get_xlim()) / 2 else "left"
            axes.text(at, -0.9, f" {label} ", ha=side, va="center", color=MUTED)
        axes.set_ylim(len(self.rows) - 0.5, -1.4 if self.marks else -0.5)
        axes.set_yticks(range(len(self.rows)), [row.label for row in self.rows])
        axes.tick_params(axis="y", labelcolor=INK)
        axes.set_xlabel(self.x_label)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
