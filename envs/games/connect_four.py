"""Connect Four: drop discs, four in a line win; OpenSpiel's `connect_four`.

Agents        player_0 (X, moves first), player_1 (O)
Observation   chat: rules, then the other's last move and the board, columns numbered
Action        text ending in the number of a column that is not full, [1] to [7]
Reward        1 to who makes a line, -1 to the other, 0 each for a draw; zero-sum
Ends          at a line or on a full board, after at most 42 moves
Options       game="connect_four(rows=4,columns=5)" for a smaller board, x_in_row for the line
References    6 x 7: the first player wins (Allis, 1988; Allen, 1988); 4 x 5: minimax is quick
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.board import MARKS, BoardGame, placed


class ConnectFour(BoardGame):
    """Connect Four on a board of any size."""

    env_id = "coevo/connect_four-v0"
    default_game: ClassVar[str] = "connect_four"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "rows": range(1, 21),
        "columns": range(1, 21),
        "x_in_row": range(2, 21),
    }
    title: ClassVar[str] = "Connect four"
    terse_joint: ClassVar[str] = " "

    def rules_text(self, player: int) -> str:
        rows, columns = size(self.game)
        line = self.game.get_parameters()["x_in_row"]
        order = "first" if player == 0 else "second"
        return (
            f"Connect Four for two players on an upright board of {rows} rows and {columns} "
            f"columns, numbered 1 to {columns} from the left. The players take turns to drop a "
            "disc into a column; it falls to the lowest empty place. A full column takes no more "
            f"discs. {line} own discs in a line win, across, up or diagonally. A full board "
            "without such a line is a draw.\n"
            f"You are player_{player}, your discs are {MARKS[player]}, and you move {order}."
        )

    def board(self, state: pyspiel.State) -> str:
        rows = str(state).upper().split()
        numbers = map(str, range(1, len(rows[0]) + 1))
        return "\n".join(map(" ".join, (numbers, *rows)))

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        filled = (" ".join([str(n), *discs]) for n, discs in enumerate(stacks(state), start=1))
        return f"You are {MARKS[player]}. {' '.join(filled)}"


def size(game: pyspiel.Game) -> tuple[int, int]:
    """Return the numbers of rows and columns."""
    parameters = game.get_parameters()
    return int(parameters["rows"]), int(parameters["columns"])


def stacks(state: pyspiel.State) -> list[list[str]]:
    """Return the discs of each column from the bottom to the top."""
    columns: list[list[str]] = [[] for _ in range(size(state.get_game())[1])]
    for action, mark in placed(state):
        columns[action].append(mark)
    return columns


raw_env, env = turn_based(ConnectFour)
