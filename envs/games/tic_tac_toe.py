"""Tic-tac-toe: three in a line on a board of nine cells; OpenSpiel's `tic_tac_toe`.

Agents        player_0 (X, moves first), player_1 (O)
Observation   chat: rules, then the other's last move and the board, empty cells numbered;
              tersely all eight lines, `X23 4O6 789 / X47 2O8 369 / XO9 3O7`
Action        text ending in the number of an empty cell, [1] to [9], row by row
Reward        1 to who makes a line, -1 to the other, 0 each for a draw; zero-sum
              (MARS adds 0.1 for a draw: a reward module's business, not the rules')
Ends          at a line or on a full board, after five to nine moves
References    value 0 (draw); player_0's mean return in random play 0.297
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.board import MARKS, BoardGame

BOARD = "\n---+---+---\n".join([" %s | %s | %s"] * 3)
"""Drawing of nine cells."""


class TicTacToe(BoardGame):
    env_id = "coevo/tic_tac_toe-v0"
    default_game: ClassVar[str] = "tic_tac_toe"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {}
    title: ClassVar[str] = "Tic-tac-toe"

    def rules_text(self, player: int) -> str:
        order = "first" if player == 0 else "second"
        return (
            "Tic-tac-toe for two players on a board of three rows and three columns. The players "
            "take turns to put their mark into an empty cell; the cells are numbered 1 to 9, row "
            "by row from the top left. Three own marks in a row, a column or a diagonal win. A "
            "full board without such a line is a draw.\n"
            f"You are player_{player}, your mark is {MARKS[player]}, and you move {order}."
        )

    def board(self, state: pyspiel.State) -> str:
        return BOARD % tuple(flat(state))

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        shown = flat(state)
        rows = [shown[0:3], shown[3:6], shown[6:9]]
        columns = [list(column) for column in zip(*rows, strict=True)]
        diagonals = [[rows[i][i] for i in range(3)], [rows[i][2 - i] for i in range(3)]]
        kinds = (rows, columns, diagonals)
        drawn = " / ".join(" ".join("".join(line) for line in lines) for lines in kinds)
        return f"You are {MARKS[player]}. {drawn}"


def flat(state: pyspiel.State) -> list[str]:
    """Return the cells of the board, row by row: a mark, or the number of an empty cell."""
    cells, moves = list("123456789"), state.history()
    for first, mark in enumerate(MARKS):
        for action in moves[first::2]:
            cells[action] = mark
    return cells


raw_env, env = turn_based(TicTacToe)
