"""Boards on which two players put marks in turn: what such games show in the same way."""

from __future__ import annotations

from collections.abc import Iterator

import pyspiel

from coevo.envs.games.openspiel import OpenSpielTask

MARKS = ("X", "O")
"""The mark of player_0, who moves first, and of player_1."""


class BoardGame(OpenSpielTask):
    """A game without chance or secrets that is described by its drawn board."""

    def board(self, state: pyspiel.State) -> str:
        """Draw the board."""
        raise NotImplementedError  # abstract

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        """Name a cell or a column by its number, counted from 1."""
        return str(action + 1)

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        """Return the other's last move and the drawn board."""
        news = self.news(state, player) or "The board is empty."
        return f"{news}\n{self.board(state)}\nYou play {MARKS[player]}."

    def draw_state(self, state: pyspiel.State) -> str:
        """Draw the board."""
        return self.board(state)


def placed(state: pyspiel.State) -> Iterator[tuple[int, str]]:
    """Return (action, mark) of every move, in order.

    >>> state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    >>> state.apply_action(4); state.apply_action(0)
    >>> list(placed(state))
    [(4, 'X'), (0, 'O')]
    """
    return ((action, MARKS[turn % 2]) for turn, action in enumerate(state.history()))
