"""Hex: join two sides of the board (Hein, 1942; Nash, 1948); OpenSpiel's `hex`.

Agents        player_0 (X, top to bottom, moves first), player_1 (O, left to right)
Observation   chat: rules, then the other's last move and the board
Action        text ending in an empty cell, e.g. [c3]
Reward        1 to who joins the own sides, -1 to the other
Ends          when one chain is complete; there are no draws
Options       game="hex(board_size=7)": 2 to 11 cells a side
References    the first player wins with perfect play on every size (Nash); on 3 x 3 the solver
              finds it
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.board import MARKS, LetterBoard, terse_board
from coevo.envs.games.experts import best

SIDES = ("the top and the bottom", "the left and the right")
"""What player_0 and player_1 join."""


class Hex(LetterBoard):
    env_id = "coevo/hex-v0"
    default_game: ClassVar[str] = "hex(board_size=4)"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {"board_size": range(2, 12)}
    title: ClassVar[str] = "Hex"
    slanted: ClassVar[bool] = True
    opening: ClassVar[str] = "The board is empty."

    def rules_text(self, player: int) -> str:
        order = "first" if player == 0 else "second"
        return f"{hex_rules(self.game)}\n{hex_seat(player)}, and you move {order}."

    def cells(self, state: pyspiel.State) -> list[str]:
        return cells(state)

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        return terse_hex(cells(state), player)

    def terse_moves(self, state: pyspiel.State, player: int) -> str:
        return any_empty(cells(state))

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Return the moves after which the own chain lacks least and the other's most."""
        rows = cells(state)
        return best({a: gain(rows, a, player) for a in state.legal_actions()})


def hex_rules(game: pyspiel.Game) -> str:
    """Explain Hex on the board of a game."""
    size = len(cells(game.new_initial_state()))
    return (
        f"Hex for two players on a board of {size} rows of {size} cells, each row half a cell "
        "further to the right. A cell touches its neighbours in its row and, in the rows above "
        "and below, the two nearest cells: c3 touches b3, d3, c2, d2, b4 and c4. In turn the "
        "players put a stone on an empty cell. X wins by a chain of touching X from the top row "
        "to the bottom row, O by a chain of O from the left column to the right column."
    )


def hex_seat(player: int) -> str:
    """Say who a seat is and what it joins."""
    return f"You are player_{player}, your stones are {MARKS[player]}, you join {SIDES[player]}"


def terse_hex(rows: Sequence[str], player: int) -> str:
    """Return the rows from the top, the seat's mark and its aim."""
    return f"{terse_board(rows, player)}, {('top to bottom', 'left to right')[player]}"


def any_empty(rows: Sequence[str]) -> str:
    """Name the empty cells, or say that any will do where there are many."""
    names = [
        f"{'abcdefghijk'[c]}{r + 1}"
        for r, row in enumerate(rows)
        for c, mark in enumerate(row)
        if mark == "."
    ]
    return " ".join(names) if len(names) <= 9 else f"any empty cell, {names[0]} to {names[-1]}"


def cells(state: pyspiel.State) -> list[str]:
    """Return the rows from the top."""
    rows = str(state).strip("\n").split("\n")
    return ["".join(row.split()).upper() for row in rows if row.strip()]


def gain(rows: Sequence[str], action: int, player: int) -> float:
    """Return how a stone changes what the chains of the other and of the player still lack."""
    size, mark = len(rows[0]), MARKS[player]
    at, column = divmod(action, size)
    after = [r if i != at else r[:column] + mark + r[column + 1 :] for i, r in enumerate(rows)]
    return lacking(after, 1 - player) - 1.5 * lacking(after, player)


def lacking(rows: Sequence[str], player: int) -> float:
    """Return how many more stones a player needs for a chain; many more than cells if none can be.

    >>> lacking(["X.", ".O"], 0), lacking(["XX", "OO"], 0)
    (1.0, 100.0)
    """
    own = [list(line) for line in (rows if player == 0 else zip(*rows, strict=True))]
    cost = {MARKS[player]: 0.0, ".": 1.0}
    size, width = len(own), len(own[0])
    open_ = [(cost[m], 0, c) for c, m in enumerate(own[0]) if m in cost]
    heapq.heapify(open_)
    done = set()
    while open_:
        total, r, c = heapq.heappop(open_)
        if r == size - 1:
            return total
        if (r, c) in done:
            continue
        done.add((r, c))
        for y, x in _touching(r, c, size, width):
            if own[y][x] in cost:
                heapq.heappush(open_, (total + cost[own[y][x]], y, x))
    return 100.0


def _touching(row: int, column: int, rows: int, columns: int) -> Iterator[tuple[int, int]]:
    for down, right in ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, 0), (1, -1)):
        if 0 <= row + down < rows and 0 <= column + right < columns:
            yield row + down, column + right


raw_env, env = turn_based(Hex)
