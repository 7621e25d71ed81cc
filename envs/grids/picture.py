"""Grid worlds as pictures: a tile for each cell, seats as arrowheads in colours of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

TILE = 24
"""Pixels along the side of a cell."""
FLOOR, LINE = (247, 243, 234), (232, 226, 213)
COLOURS = {
    "wall": (92, 96, 104),
    "apple": (206, 62, 52),
    "river": (132, 186, 214),
    "waste": (140, 116, 70),
    "plastic": (232, 150, 48),
    "water": (132, 186, 214),
    "goal": (62, 152, 84),
    "coin": (236, 192, 52),
    "gem": (44, 168, 190),
    "trap": (150, 30, 40),
    "bomb": (40, 40, 44),
    "dust": (196, 190, 178),
    "key": (224, 176, 32),
    "door": (120, 78, 40),
    "bin": (62, 100, 70),
    "chest": (140, 92, 48),
    "fruit": (232, 96, 60),
    "mud": (150, 126, 92),
    "spring": (150, 104, 190),
    "crate": (198, 164, 112),
}
"""Kind of ground -> its colour; others are drawn grey."""
FULL = ("wall", "rock", "river", "water", "mud", "crate", "chest", "door", "bin")
"""Kinds that fill their cell; others are things upon a floor, drawn as discs."""
SEATS = ((46, 92, 170), (214, 120, 28), (122, 62, 150), (24, 140, 128), (190, 50, 110))

_ROW, _COLUMN = (np.indices((TILE, TILE)) - (TILE - 1) / 2) / (TILE / 2)
_DISC = _ROW**2 + _COLUMN**2 < 0.42
_SQUARE = np.maximum(np.abs(_ROW), np.abs(_COLUMN)) < 0.55
_ARROW = (np.abs(_COLUMN) < (_ROW + 0.78) * 0.48) & (0.7 - 0.35 * (1 - np.abs(_COLUMN)) > _ROW)
"""An arrowhead that faces up, with a notch behind."""


def paint(
    kinds: Sequence[str],
    ground: NDArray[np.uint8],
    seats: Sequence[tuple[int, tuple[int, int], int | None]],
) -> NDArray[np.uint8]:
    """Return a picture [height, width, 3].

    Args:
        kinds: names of the kinds of ground.
        ground: a plane for each kind, [kinds, rows, columns].
        seats: number, cell and heading of each seat that is on the map; one without a heading is
            a square.
    """
    _, rows, columns = ground.shape
    made = np.empty((rows * TILE, columns * TILE, 3), dtype=np.uint8)
    made[:] = FLOOR
    made[::TILE] = made[:, ::TILE] = LINE
    for kind, plane in zip(kinds, ground, strict=True):
        for y, x in np.argwhere(plane):
            tile = _tile(made, int(y), int(x))
            tile[slice(None) if kind in FULL else _DISC] = COLOURS.get(kind, (160, 160, 160))
    for i, (y, x), heading in seats:
        shape = _SQUARE if heading is None else np.rot90(_ARROW, -heading)
        _tile(made, y, x)[shape] = SEATS[i % len(SEATS)]
    return made


def _tile(made: NDArray[np.uint8], y: int, x: int) -> NDArray[np.uint8]:
    return made[y * TILE : (y + 1) * TILE, x * TILE : (x + 1) * TILE]
