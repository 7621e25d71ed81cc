"""All strict ordinal 2x2 games: both players rank the four cells 1 to 4 without ties.

24 x 24 rankings, of which those that differ by swapping rows or columns are one game: 144.
"""

from __future__ import annotations

import functools
import itertools
from typing import Annotated, Literal

from coevo.envs.core.config import config, whole
from coevo.envs.dilemmas.matrices import MatrixGame, game_of_payoffs

COUNT = 144
"""576 pairs of rankings over orbits of 4: no swap leaves a strict ranking as it is."""
Ranks = tuple[int, int, int, int]
"""A player's payoffs in the cells (0,0), (0,1), (1,0), (1,1)."""
_SWAPS = ((0, 1, 2, 3), (2, 3, 0, 1), (1, 0, 3, 2), (3, 2, 1, 0))


@functools.cache
def ordinal_pairs() -> tuple[tuple[Ranks, Ranks], ...]:
    """Return the pairs of rankings that stand for the games, in lexical order.

    >>> len(ordinal_pairs())
    144
    """
    found = {
        min((_swapped(row, s), _swapped(column, s)) for s in _SWAPS)
        for row in itertools.permutations((1, 2, 3, 4))
        for column in itertools.permutations((1, 2, 3, 4))
    }
    return tuple(sorted(found))


@functools.cache
def ordinal_games() -> tuple[MatrixGame, ...]:
    """Return the 144 games, `ordinal_1` to `ordinal_144`."""
    games = []
    for number, (row, column) in enumerate(ordinal_pairs(), start=1):
        cells = list(zip(row, column, strict=True))
        games.append(game_of_payoffs([cells[:2], cells[2:]], f"ordinal_{number}"))
    return tuple(games)


@config
class Ordinal:
    """One of the 144 games, in lexical order of its rankings."""

    name: Literal["ordinal"] = "ordinal"
    number: Annotated[int, whole(1, COUNT)]

    def make(self) -> MatrixGame:
        return ordinal_games()[self.number - 1]


def _swapped(ranks: tuple[int, ...], order: tuple[int, ...]) -> Ranks:
    a, b, c, d = (ranks[i] for i in order)
    return a, b, c, d
