"""Charts as data, and how they are drawn on matplotlib axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike

from coevo.benchmarks.report.strokes import (
    INK,
    MUTED,
    PAPER,
    SERIES,
    at_ends,
    calm,
    dash,
    listed,
    mark_height,
    mark_place,
    series_id,
    stroke,
    text_width,
)

LABELLED = 16
"""Most curves that are labelled."""
DOTTED = 24
"""Curves of fewer points show each of them."""
TOP, BOTTOM, LEFT = 48.0, 42.0, 48.0
"""Room for title and unit, for the axis below, and for the numbers on the left."""


class Chart(Protocol):
    """Whatever can be drawn on axes and has a name for its file."""

    @property
    def name(self) -> str:
        """Name of the file."""

    @property
    def title(self) -> str:
        """What it shows."""

    @property
    def unit(self) -> str:
        """What is measured upwards, written under the title."""

    @property
    def note(self) -> str:
        """How it is to be read."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """Room around the axes: left, right, top, bottom."""

    def draw(self, axes: Axes) -> None:
        """Draw it."""


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


@dataclass(frozen=True)
class Curves:
    """Curves over a common axis, labelled at their ends."""

    name: str
    title: str
    x_label: str
    unit: str
    lines: tuple[Line, ...]
    note: str = ""
    y_range: tuple[float | None, float | None] = (None, None)
    marks: tuple[tuple[str, float], ...] = ()
    """Names and heights of reference lines."""
    percent: bool = False
    from_zero: bool = True
    """Whether the horizontal axis begins at 0, where nothing is spent."""
    ordered: bool = False
    """Names are listed beside the chart in the order of the lines: their ends say nothing."""
    size: tuple[float, float] = (390, 245)

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """With room for the labels on the right."""
        names = [line.label for line in self.lines] if len(self.lines) > 1 else []
        return LEFT, 16.0 + text_width(names), TOP, BOTTOM

    def draw(self, axes: Axes) -> None:
        """Draw the curves, the references behind them, and the labels."""
        calm(axes)
        for line in self.lines:
            _line(axes, line, dots=np.size(line.x) <= DOTTED and not self.ordered)
        self._limit(axes)
        for label, height in self.marks:
            mark_height(axes, label, height)
        axes.set_xlabel(self.x_label)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=self.x_label == "updates"))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: compact(v)))
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        if self.percent:
            axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:g} %"))
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
        lines = [line for line in self.lines[:LABELLED] if np.size(line.x)]
        if len(self.lines) < 2:
            return
        if self.ordered:
            listed(axes, [(line.label, line.colour) for line in lines])
        else:
            ends = [(np.asarray(line.x)[-1], np.asarray(line.y)[-1]) for line in lines]
            named = zip(lines, ends, strict=True)
            at_ends(axes, [(n.label, n.colour, float(x), float(y)) for n, (x, y) in named])


def _line(axes: Axes, line: Line, dots: bool) -> None:
    x, colour = np.asarray(line.x, dtype=float), stroke(line.colour)
    gid = series_id(line.colour)
    if line.low is not None and line.high is not None:
        low, high = np.asarray(line.low, dtype=float), np.asarray(line.high, dtype=float)
        axes.fill_between(x, low, high, color=colour, alpha=0.14, linewidth=0, gid=gid)
    if line.faint is not None:
        axes.plot(x, line.faint, color=colour, alpha=0.28, linewidth=0.8, gid=gid)
    dashed: Any = dash(line.colour)
    drawn = axes.plot(x, line.y, color=colour, linewidth=1.8, linestyle=dashed, gid=gid)[0]
    drawn.set_clip_on(False)  # a line along the edge of the axes keeps its width
    if dots:
        drawn.set_marker("o")
        drawn.set_markersize(3.2)


@dataclass(frozen=True)
class Row:
    """One row of an interval plot."""

    label: str
    centre: float
    low: float | None
    high: float | None
    points: tuple[float, ...] = ()
    """Single results behind the centre."""
    colour: int = -1
    detail: str = ""
    """Written at the right end."""


@dataclass(frozen=True)
class Intervals:
    """A centre with its interval per row, over the single results."""

    name: str
    title: str
    x_label: str
    rows: tuple[Row, ...]
    note: str = ""
    marks: tuple[tuple[str, float], ...] = ()
    """Names and places of reference lines."""
    unit: str = ""

    @property
    def size(self) -> tuple[float, float]:
        """As high as its rows need."""
        _, _, top, bottom = self.margins
        return 390, top + bottom + 24 * (len(self.rows) + bool(self.marks))

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """With room for the names on the left and details on the right."""
        details = text_width([row.detail for row in self.rows])
        return text_width([row.label for row in self.rows]) + 14, details + 12, 30.0, BOTTOM

    def draw(self, axes: Axes) -> None:
        """Draw every row."""
        calm(axes, grid="x")
        for place, row in enumerate(self.rows):
            _row(axes, place, row)
        for label, at in self.marks:
            mark_place(axes, label, at)
        axes.set_ylim(len(self.rows) - 0.5, -1.4 if self.marks else -0.5)
        axes.set_yticks(range(len(self.rows)), [row.label for row in self.rows])
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.set_xlabel(self.x_label)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))


def _row(axes: Axes, place: int, row: Row) -> None:
    look: dict[str, Any] = {"color": stroke(row.colour), "gid": series_id(row.colour)}
    heights = [place] * len(row.points)
    axes.scatter(row.points, heights, s=13, alpha=0.3, linewidths=0, **look)
    if row.low is not None and row.high is not None:
        axes.plot([row.low, row.high], [place, place], linewidth=2.4, **look)
    axes.plot([row.centre], [place], "o", markersize=7, markeredgecolor=PAPER, **look)
    beside = axes.get_yaxis_transform()
    axes.text(1.02, place, row.detail, transform=beside, va="center", color=MUTED)


@dataclass(frozen=True)
class Heat:
    """A table of numbers in which colour says how high they are."""

    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    centre: float = 0.0
    """Value without colour; above is the first colour, below the second."""
    note: str = ""
    unit: str = ""

    @property
    def size(self) -> tuple[float, float]:
        """As large as its cells need."""
        left, right, top, bottom = self.margins
        return left + right + 52 * len(self.columns), top + bottom + 34 * len(self.rows)

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """With room for the names of rows and columns."""
        below = text_width(self.columns) * 0.6 + 16
        return max(text_width(self.rows), below) + 12, 12.0, TOP, below

    def draw(self, axes: Axes) -> None:
        """Draw every cell with its number."""
        reach = spread(self.values, self.centre)
        for i, row in enumerate(self.values):
            for j, value in enumerate(row):
                if value is not None:
                    self._cell(axes, i, j, (value - self.centre) / reach if reach else 0.0, value)
        axes.set_xlim(-0.5, len(self.columns) - 0.5)
        axes.set_ylim(len(self.rows) - 0.5, -0.5)
        axes.set_xticks(range(len(self.columns)), self.columns, rotation=35, ha="right")
        axes.set_yticks(range(len(self.rows)), self.rows)
        axes.tick_params(length=0, labelcolor=INK)
        for side in axes.spines.values():
            side.set_visible(False)

    def _cell(self, axes: Axes, i: int, j: int, tint: float, value: float) -> None:
        colour, alpha = SERIES[0] if tint > 0 else SERIES[1], 0.6 * min(abs(tint), 1.0)
        box = Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=colour, alpha=alpha, edgecolor="none")
        axes.add_patch(box)
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", color=INK)


def spread(values: Sequence[Sequence[float | None]], centre: float) -> float:
    """Give the largest distance from the centre.

    >>> spread([[0.5, None], [0.2, 0.9]], 0.5)
    0.4
    """
    return max((abs(v - centre) for row in values for v in row if v is not None), default=0.0)


def compact(value: float) -> str:
    """Write a large number short.

    >>> compact(0), compact(250), compact(1500), compact(2e6), compact(0.25)
    ('0', '250', '1.5k', '2M', '0.25')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
