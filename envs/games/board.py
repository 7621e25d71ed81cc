"""Boards on which two players put marks in turn: what such games show in the same way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import pyspiel

from coevo.envs.games.openspiel import OpenSpielTask
from coevo.envs.games.states import clean_name

MARKS = ("X", "O")
"""The mark of player_0, who moves first, and of player_1."""


class BoardGame(OpenSpielTask):
    """A game without chance or secrets that is described by its drawn board."""

    fixed_names: ClassVar[bool] = True
    opening: ClassVar[str] = "The board is empty."
    """What is said to who moves first."""

    def board(self, state: pyspiel.State) -> str:
        """Draw the board."""
        raise NotImplementedError  # abstract

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return str(action + 1)

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        news = self.news(state, player) or self.opening
        return f"{news}\n{self.board(state)}\nYou play {MARKS[player]}."

    def draw_state(self, state: pyspiel.State) -> str:
        return self.board(state)


class LetterBoard(BoardGame):
    """A board whose columns have letters and whose rows have numbers."""

    fixed_names: ClassVar[bool] = False
    opening: ClassVar[str] = "You make the first move."
    upwards: ClassVar[bool] = False
    """Whether row 1 is the lowest."""
    slanted: ClassVar[bool] = False
    """Whether every row is drawn half a cell further to the right."""
    terse_joint: ClassVar[str] = " "

    def cells(self, state: pyspiel.State) -> list[str]:
        """Return the rows from the top, one character per cell: a mark or a point."""
        raise NotImplementedError  # abstract

    def board(self, state: pyspiel.State) -> str:
        return lettered(self.cells(state), self.upwards, self.slanted)

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return clean_name(state.action_to_string(player, action)).rstrip("*")

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        return terse_board(self.cells(state), player)


def terse_board(rows: Sequence[str], player: int) -> str:
    """Return rows of cells from the top and a seat's mark.

    >>> terse_board(["X.", ".O"], 1)
    'Board X. .O, you are O'
    """
    return f"Board {' '.join(rows)}, you are {MARKS[player]}"


def lettered(rows: Sequence[str], upwards: bool = False, slanted: bool = False) -> str:
    """Draw rows of cells from the top, after their numbers and under the letters of the columns.

    >>> print(lettered(["X.", ".O"]))
      a b
    1 X .
    2 . O
    """
    letters = "abcdefghijklmnopqrstuvwxyz"[: len(rows[0])]
    width = len(str(len(rows)))
    lines = [f"{'':{width}} {' '.join(letters)}"]
    for place, row in enumerate(rows):
        number = len(rows) - place if upwards else place + 1
        indent = " " * place if slanted else ""
        lines.append(f"{indent}{number:>{width}} {' '.join(row)}")
    return "\n".join(lines)


def placed(state: pyspiel.State) -> Iterator[tuple[int, str]]:
    """Return (action, mark) of every move, in order.

    >>> state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    >>> state.apply_action(4); state.apply_action(0)
    >>> list(placed(state))
    [(4, 'X'), (0, 'O')]
    """
    return ((action, MARKS[turn % 2]) for turn, action in enumerate(state.history()))
