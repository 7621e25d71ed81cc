"""Text as a picture: what `rgb_array` shows of a task."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.errors import missing_extra

CELL = (6, 11)
"""Width and height of a character of the font in dots."""
SCALE = 2
"""Pixels along the side of a dot."""
MARGIN = 6
PAPER, INK = 255, 20
"""Shades of grey."""


def picture(text: str) -> NDArray[np.uint8]:
    """Return a text as an image [height, width, 3], every character in a cell of its own.

    Characters that the font lacks are shown as question marks.

    Raises:
        MissingExtraError: Pillow is not installed.
    """
    lines = text.encode("latin-1", "replace").decode("latin-1").split("\n")
    width = max(map(len, lines)) * CELL[0] + 2 * MARGIN
    height = len(lines) * CELL[1] + 2 * MARGIN
    image_module, pen_module, font = _pillow()
    image = image_module.new("L", (width, height), PAPER)
    pen = pen_module.Draw(image)
    for row, line in enumerate(lines):
        for column, character in enumerate(line):
            place = (MARGIN + column * CELL[0], MARGIN + row * CELL[1])
            pen.text(place, character, fill=INK, font=font)
    dots = np.asarray(image, dtype=np.uint8)
    return np.repeat(np.kron(dots, np.ones((SCALE, SCALE), np.uint8))[..., None], 3, axis=2)


def _pillow() -> tuple[Any, Any, Any]:
    try:
        image, draw, font = (importlib.import_module(f"PIL.Image{n}") for n in ("", "Draw", "Font"))
    except ImportError:
        raise missing_extra("pillow", "train") from None
    return image, draw, font.load_default_imagefont()
