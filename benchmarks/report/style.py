"""Colours and lines of charts.

Every colour of a drawing has a name in the style of the page, which knows it for light and dark.
"""

from __future__ import annotations

from typing import Any

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
DASHES: Any = ("solid", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)))
"""Line styles, to distinguish more curves than there are colours."""
NAMED = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--grid)",
    PAPER: "var(--paper)",
    **{colour: f"var(--series-{i})" for i, colour in enumerate(SERIES)},
}
"""Colour of the drawing -> colour of the page."""
STYLE: Any = {
    "svg.fonttype": "none",
    "font.size": 11.0,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 11.0,
    "axes.facecolor": "none",
    "axes.edgecolor": GRID,
    "axes.axisbelow": True,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": PAPER,
    "figure.titlesize": 13.0,
    "figure.titleweight": "bold",
    "savefig.facecolor": PAPER,
    "grid.color": GRID,
    "legend.frameon": False,
    "legend.handlelength": 1.2,
    "lines.solid_capstyle": "round",
    "text.color": INK,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
}


def stroke(colour: int) -> str:
    """Return the colour of a curve by its number; below 0 is ink."""
    return INK if colour < 0 else SERIES[colour % len(SERIES)]


def series_id(colour: int) -> str | None:
    """Return the name by which the page finds what belongs to one curve."""
    return f"series-{colour}" if colour >= 0 else None
