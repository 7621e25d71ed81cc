"""Phantom tic-tac-toe: tic-tac-toe without seeing the other's marks; OpenSpiel's `phantom_ttt`.

Agents        player_0 (X, moves first), player_1 (O)
Observation   chat: rules, then the board as far as this seat knows it
Action        text ending in the number of a cell that this seat does not know to be taken
Reward        1 to who makes a line, -1 to the other, 0 each for a draw
Ends          at a line or on a full board
Options       game="phantom_ttt(gameversion=abrupt)": who tries a taken cell loses the turn
References    the expert plays as if all cells that it does not know were empty
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.board import MARKS, terse_board
from coevo.envs.games.experts import best
from coevo.envs.games.openspiel import OpenSpielTask

LINES = (
    *((3 * i, 3 * i + 1, 3 * i + 2) for i in range(3)),
    *((i, i + 3, i + 6) for i in range(3)),
    (0, 4, 8),
    (2, 4, 6),
)
"""Cells of rows, columns and diagonals."""
LINE_WORTH = {2: 100.0, 1: 5.0, 0: 1.0}
BLOCK_WORTH = {2: 30.0, 1: 2.0, 0: 0.0}
"""What the expert adds for a cell in a line that holds so many own marks, or known ones of the
other, and none of the other kind."""
TAKEN = {
    "classical": "moves again at once",
    "abrupt": "loses the turn",
}
"""What happens to who tries a taken cell, by version of the game."""


class PhantomTicTacToe(OpenSpielTask):
    """Tic-tac-toe on three by three cells, each seat seeing its own marks."""

    env_id = "coevo/phantom_tic_tac_toe-v0"
    default_game: ClassVar[str] = "phantom_ttt"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {"gameversion": tuple(TAKEN)}
    title: ClassVar[str] = "Phantom tic-tac-toe"
    fixed_names: ClassVar[bool] = True
    terse_joint: ClassVar[str] = " "

    def rules_text(self, player: int) -> str:
        order = "first" if player == 0 else "second"
        taken = TAKEN[self.game.get_parameters()["gameversion"]]
        return (
            "Phantom tic-tac-toe for two players on a board of three rows and three columns. The "
            "players take turns to put their mark into an empty cell, and nobody sees the marks of "
            "the other. Who tries a cell that the other has taken is told so, knows that mark from "
            f"then on, and {taken}. The cells are numbered 1 to 9, row by row from the top left. "
            "Three own marks in a row, a column or a diagonal win. A full board without such a "
            "line is a draw.\n"
            f"You are player_{player}, your mark is {MARKS[player]}, and you move {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return str(action + 1)

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        rows = known(state, player)
        told = last_try(state, player, rows, lambda action: str(action + 1))
        return f"{told}Your marks and those you know:\n{drawn(rows)}\nYou play {MARKS[player]}."

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        return terse_board(known(state, player), player)

    def draw_state(self, state: pyspiel.State) -> str:
        return drawn(str(state).upper().split())

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Weigh lines as if all cells that this seat does not know were empty."""
        flat = "".join(known(state, player))
        mine, other = MARKS[player], MARKS[1 - player]
        values = {}
        for action in state.legal_actions():
            lines = ["".join(flat[i] for i in line) for line in LINES if action in line]
            own = sum(LINE_WORTH[line.count(mine)] for line in lines if other not in line)
            block = sum(BLOCK_WORTH[line.count(other)] for line in lines if mine not in line)
            values[action] = own + block
        return best(values)


def known(state: pyspiel.State, player: int) -> list[str]:
    """Return the rows of a board as a player knows them: marks, and points elsewhere."""
    seen = str(state.information_state_string(player)).upper().split("\n")
    return [row for row in seen if row and not set(row) - {*MARKS, "."}]


def last_try(
    state: pyspiel.State, player: int, rows: Sequence[str], name: Callable[[int], str]
) -> str:
    """Return a line that says whether this seat's last try hit a stone of the other."""
    own = [entry.action for entry in state.full_history() if entry.player == player]
    if not own or "".join(rows)[own[-1]] != MARKS[1 - player]:
        return ""
    return f"Your last try, {name(own[-1])}, was taken by {MARKS[1 - player]}.\n"


def drawn(rows: Sequence[str]) -> str:
    """Draw a board; a cell without a mark shows its number."""
    cells = [m if m in MARKS else str(i) for i, m in enumerate("".join(rows), start=1)]
    return "\n---+---+---\n".join(" " + " | ".join(cells[i : i + 3]) for i in (0, 3, 6))


raw_env, env = turn_based(PhantomTicTacToe)
