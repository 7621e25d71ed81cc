"""Go on a small board, by area (Tromp and Taylor, 1995); OpenSpiel's `go`.

Agents        player_0 (X, black, moves first), player_1 (O, white)
Observation   chat: rules, then the other's last move and the board
Action        text ending in an empty cell, e.g. [c3], or in [pass]
Reward        1 to the winner, -1 to the other
Ends          after two passes, or after 2 n n moves on n x n cells
Options       game="go(board_size=7,komi=9.5)": 3 to 9 cells a side; komi 0.5 to 24.5
References    the expert looks one move ahead at captures, stones in danger and free neighbours
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.board import MARKS, LetterBoard
from coevo.envs.games.experts import look_ahead
from coevo.envs.games.hex import any_empty


class Go(LetterBoard):
    """Go on a board of three to nine cells a side."""

    env_id = "coevo/go-v0"
    default_game: ClassVar[str] = "go(board_size=5,komi=0.5)"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "board_size": range(3, 10),
        "komi": (0.5, 3.5, 6.5, 7.5, 9.5, 24.5),
    }
    title: ClassVar[str] = "Go"
    upwards: ClassVar[bool] = True
    opening: ClassVar[str] = "The board is empty."

    def rules_text(self, player: int) -> str:
        size, komi = self.game.get_parameters()["board_size"], self.game.get_parameters()["komi"]
        order = "first" if player == 0 else "second"
        return (
            f"Go for two players on {size} by {size} cells. In turn the players put a stone on an "
            "empty cell or pass. Stones of one colour that touch, across or up, are a group; when "
            "the last empty cell that touches a group is filled by the other, its stones are taken "
            "off. A move may not leave an own group without such a cell, nor repeat an earlier "
            "board. After two passes the points are counted: own stones and empty cells that touch "
            f"only own stones. O gets {komi:g} points more for moving second. More points win.\n"
            f"You are player_{player}, your stones are {MARKS[player]}, and you move {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return str(state.action_to_string(player, action)).split()[1].lower()

    def cells(self, state: pyspiel.State) -> list[str]:
        return cells(state)

    def terse_moves(self, state: pyspiel.State, player: int) -> str:
        return f"{any_empty(cells(state)[::-1])}, or pass"

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Look one move ahead; pass when all that is left are own eyes."""
        return look_ahead(state, worth, plies=1)


def cells(state: pyspiel.State) -> list[str]:
    """Return the rows from the top."""
    rows = [line.split()[1] for line in str(state).split("\n") if line.strip()[:1].isdigit()]
    return [row.replace("+", ".") for row in rows]


def worth(state: pyspiel.State, player: int) -> float:
    """Return stones, groups that are safe and area of a player less those of the other."""
    rows = cells(state)
    size = len(rows)
    value, seen = 0.0, set()
    for r in range(size):
        for c in range(size):
            if rows[r][c] == "." or (r, c) in seen:
                continue
            group, free = spread(rows, r, c)
            seen |= group
            sign = 1 if rows[r][c] == MARKS[player] else -1
            in_danger = len(free) == 1 and (sign > 0) == (state.current_player() != player)
            value += sign * (len(group) * (0.2 if in_danger else 1.0) + 0.3 * min(len(free), 4))
    return value + 0.5 * sum(_owner(rows, r, c, player) for r in range(size) for c in range(size))


def spread(
    rows: Sequence[str], row: int, column: int
) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return the cells of the group of a stone and the empty cells that it touches."""
    group, free, open_ = {(row, column)}, set(), [(row, column)]
    while open_:
        r, c = open_.pop()
        for y, x in around(r, c, len(rows)):
            if rows[y][x] == ".":
                free.add((y, x))
            elif rows[y][x] == rows[row][column] and (y, x) not in group:
                group.add((y, x))
                open_.append((y, x))
    return group, free


def around(row: int, column: int, size: int) -> list[tuple[int, int]]:
    """Return the cells next to a cell.

    >>> around(0, 0, 5)
    [(1, 0), (0, 1)]
    """
    near = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
    return [(r, c) for r, c in near if 0 <= r < size and 0 <= c < size]


def _owner(rows: Sequence[str], row: int, column: int, player: int) -> float:
    """Return 1 for an empty cell that touches own stones alone, -1 for the other's, else 0."""
    if rows[row][column] != ".":
        return 0.0
    touched = {rows[y][x] for y, x in around(row, column, len(rows))} - {"."}
    return {MARKS[player]: 1.0, MARKS[1 - player]: -1.0}.get("".join(touched), 0.0)


raw_env, env = turn_based(Go)
