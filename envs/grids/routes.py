"""Shortest ways on a grid."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

Cell = tuple[int, int]
STEPS: tuple[Cell, ...] = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Rows and columns that a step north, east, south or west changes."""


def first_step(
    walls: NDArray[np.uint8], start: Cell, goals: NDArray[np.uint8], taken: Collection[Cell] = ()
) -> int | None:
    """Return the heading of the first step to the nearest goal; None where no way leads to any.

    Args:
        walls: cells that cannot be entered; they enclose the map.
        start: where the way begins; it is no goal.
        goals: cells with a number other than 0.
        taken: further cells that cannot be entered.

    >>> walls = np.array([[1, 1, 1, 1, 1], [1, 0, 0, 0, 1], [1, 1, 1, 1, 1]], dtype=np.uint8)
    >>> goals = np.zeros_like(walls)
    >>> goals[1, 3] = 1
    >>> first_step(walls, (1, 1), goals), first_step(walls, (1, 1), goals, [(1, 2)])
    (1, None)
    """
    return _searched(walls, start, goals, taken)[0]


def path_length(walls: NDArray[np.uint8], start: Cell, goals: NDArray[np.uint8]) -> int | None:
    """Return the steps of a shortest way to the nearest goal; None where there is none.

    >>> walls = np.ones((3, 6), dtype=np.uint8)
    >>> walls[1, 1:5] = 0
    >>> goals = np.zeros_like(walls)
    >>> goals[1, 4] = 1
    >>> path_length(walls, (1, 1), goals), path_length(walls, (1, 4), goals)
    (3, 0)
    """
    return 0 if goals[start] else _searched(walls, start, goals, ())[1]


def _searched(
    walls: NDArray[np.uint8], start: Cell, goals: NDArray[np.uint8], taken: Collection[Cell]
) -> tuple[int | None, int | None]:
    """Return the first heading and the length of a shortest way of at least one step."""
    blocked = walls.astype(bool)
    for cell in taken:
        blocked[cell] = True
    blocked[start] = True
    free, wanted = (~blocked).tolist(), goals.tolist()
    open_: deque[tuple[int, int, int, int]] = deque()
    for heading, (down, across) in enumerate(STEPS):
        open_.append((start[0] + down, start[1] + across, heading, 1))
    while open_:
        y, x, heading, length = open_.popleft()
        if not free[y][x]:
            continue
        if wanted[y][x]:
            return heading, length
        free[y][x] = False
        for down, across in STEPS:
            open_.append((y + down, x + across, heading, length + 1))
    return None, None
