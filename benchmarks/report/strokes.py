"""The few colours and strokes that all charts share, and names beside curves.

Every colour here has a name in the style of the page, which knows it for light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

INK, MUTED, GRID, PAPER = "#1d2129", "#5f6773", "#e3e5e8", "#fefefe"
SERIES = (
    "#0072b2",
    "#d55e00",
    "#00795a",
    "#a64d82",
    "#8a6a00",
    "#2389bd",
    "#7d2a3c",
    "#5b6472",
)
"""Colours of curves on white, after Okabe and Ito, darkened to a contrast of 3 or more."""
DASHES = ("solid", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)))
"""Strokes, so that more curves than colours can be told apart."""
SMALL = 11.0
"""Size of letters, in the units of the drawing."""
LETTER = 6.6
"""Width of a letter of that size, about."""
BESIDE = 1.045
"""Where names stand, in widths of the axes."""


def stroke(colour: int) -> str:
    """Give the colour of a curve by its number; below 0 is ink."""
    return INK if colour < 0 else SERIES[colour % len(SERIES)]


def dash(colour: int) -> object:
    """Give the stroke of a curve by its number."""
    return DASHES[max(colour, 0) // len(SERIES) % len(DASHES)]


def series_id(colour: int) -> str | None:
    """Name the strokes of one curve, so that the page can find them."""
    return f"series-{colour}" if colour >= 0 else None


def text_width(names: Sequence[str]) -> float:
    """Give the width that names need beside a chart, about.

    >>> text_width(["mars", "reinforce"]), text_width([])
    (59.4, 0.0)
    """
    return round(LETTER * max(map(len, names), default=0), 2)


def calm(axes: Axes, grid: str = "y") -> None:
    """Take away what is not data."""
    for name, side in axes.spines.items():
        side.set_visible(name == "bottom" and grid == "y")
        side.set_color(GRID)
    axes.grid(axis="x" if grid == "x" else "y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelcolor=MUTED)


def mark_height(axes: Axes, label: str, height: float) -> None:
    """Draw a reference across the axes, if it is in view."""
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


def mark_place(axes: Axes, label: str, place: float) -> None:
    """Draw a reference up the axes, with its name over the first row."""
    axes.axvline(place, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    to_left = place > sum(axes.get_xlim()) / 2
    axes.annotate(
        label,
        (place, -0.9),
        xytext=(-4 if to_left else 4, 0),
        textcoords="offset points",
        ha="right" if to_left else "left",
        va="center",
        color=MUTED,
    )


# ---- Names beside curves -----------------------------------------------------------------------


def listed(axes: Axes, names: Sequence[tuple[str, int]]) -> None:
    """List names with their colours beside the chart, from the top.

    Args:
        axes: whose curves they are.
        names: (name, colour), in order.
    """
    gap = 1.4 * SMALL / _height(axes)
    for place, (name, colour) in enumerate(names):
        axes.annotate(
            name,
            (BESIDE, 1 - gap * place),
            xycoords="axes fraction",
            va="top",
            color=stroke(colour),
            gid=series_id(colour),
            annotation_clip=False,
        )


def at_ends(axes: Axes, ends: Sequence[tuple[str, int, float, float]]) -> None:
    """Write names beside the ends of curves, apart from each other, tied to where they belong.

    Args:
        axes: whose curves they are.
        ends: (name, colour, x, y) of the last point of each.
    """
    low, high = axes.get_ylim()
    right = axes.get_xlim()[1]
    shares = [float(np.clip((y - low) / (high - low), 0.0, 1.0)) for *_, y in ends]
    places = apart(shares, 1.28 * SMALL / _height(axes))
    for (name, colour, x, _), share, place in zip(ends, shares, places, strict=True):
        tied = abs(share - place) > 0.004 or x < right
        axes.annotate(
            name,
            (x, low + share * (high - low)),
            xytext=(BESIDE, place),
            textcoords="axes fraction",
            va="center",
            color=stroke(colour),
            gid=series_id(colour),
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": stroke(colour),
                "linewidth": 0.7,
                "alpha": 0.5 if tied else 0.0,
                "shrinkA": 1,
                "shrinkB": 0,
            },
        )


def _height(axes: Axes) -> float:
    """Give the height of the axes in units of the drawing."""
    figure = axes.get_figure(root=True)
    return max(axes.get_window_extent().height * 72 / (figure.dpi if figure else 72), 1.0)


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Move places in [0, 1] as little as needed for neighbours to be a gap apart.

    Neighbours that are too close form a block around their mean, and blocks merge. Nothing leaves
    [0, 1] as long as there is room; with too little room things end below 0.

    >>> [round(x, 3) for x in apart([0.5, 0.5, 0.0], 0.1)], apart([1.0, 1.0], 0.25)
    ([0.45, 0.55, 0.0], [0.75, 1.0])
    """
    order = sorted(range(len(places)), key=lambda i: (places[i], i))
    blocks: list[tuple[float, int]] = []  # mean and count
    for i in order:
        mean, count = places[i], 1
        while blocks and mean - blocks[-1][0] < gap * (count + blocks[-1][1]) / 2:
            other, more = blocks.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        blocks.append((mean, count))
    spots = _inside([m + gap * (k - (n - 1) / 2) for m, n in blocks for k in range(n)], gap)
    return [spots[order.index(i)] for i in range(len(places))]


def _inside(spots: list[float], gap: float) -> list[float]:
    """Push ordered places up from 0, then down from 1."""
    for i, spot in enumerate(spots):
        spots[i] = max(spot, spots[i - 1] + gap if i else 0.0)
    for i in reversed(range(len(spots))):
        spots[i] = min(spots[i], spots[i + 1] - gap if i + 1 < len(spots) else 1.0)
    return spots
