"""Chess by the rules of FIDE; OpenSpiel's `chess`.

Agents        player_0 (black), player_1 (white, moves first), as in OpenSpiel
Observation   chat: rules, then the other's last move and the board
Action        text ending in a move in algebraic notation, e.g. [Nf3], or by its squares, [g1f3]
Reward        1 to the winner, -1 to the other, 0 for a draw
Ends          with mate, stalemate, a third repetition, fifty moves without capture or pawn, or
              where neither has enough to mate
Options       openings: random moves before the first; OpenSpiel has no smaller boards
References    the expert looks two moves ahead at material and free moves
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import Parse, Status, parse_move
from coevo.envs.games.board import LetterBoard, lettered
from coevo.envs.games.experts import look_ahead
from coevo.envs.games.states import clean_name

SIDES = ("black", "white")
"""What player_0 and player_1 play."""
WORTH = {"P": 1.0, "N": 3.0, "B": 3.1, "R": 5.0, "Q": 9.0, "K": 0.0}
"""Usual values of the pieces, in pawns."""


class Chess(LetterBoard):
    env_id = "coevo/chess-v0"
    default_game: ClassVar[str] = "chess"
    settable: ClassVar = {}
    title: ClassVar[str] = "Chess"
    upwards: ClassVar[bool] = True

    def rules_text(self, player: int) -> str:
        order = ("second", "first")[player]
        return (
            "Chess by the usual rules, castling, taking in passing and promotion included. White's "
            "pieces are capital letters, black's small ones: K king, Q queen, R rook, B bishop, N "
            "knight, P pawn. Mate wins; stalemate, a position that comes a third time and fifty "
            "moves without a capture or a pawn's move are draws. A move is written in algebraic "
            "notation, as [Nf3], [exd5], [O-O] or [e8=Q], or by its squares, as [g1f3].\n"
            f"You are player_{player}, you play {SIDES[player]}, and you move {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return clean_name(state.action_to_string(player, action))

    def read(self, seat: str, text: str) -> Parse:
        found = super().read(seat, text)
        if found.status is Status.LEGAL:
            return found
        by_squares = self.squares(self.state, self.seats.index(seat))
        again = parse_move(text, list(by_squares))
        if again.status is not Status.LEGAL or again.move is None:
            return found
        return Parse(by_squares[again.move], Status.LEGAL)

    def squares(self, state: pyspiel.State, player: int) -> dict[str, str]:
        """Return the squares of every legal move, as `e7e8q`, and its name."""
        board = state.board()
        return {
            pyspiel.chess.action_to_move(action, board).to_lan(): name
            for name, action in self.legal_moves(state, player).items()
        }

    def cells(self, state: pyspiel.State) -> list[str]:
        return cells(state)

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        news = self.news(state, player) or self.opening
        return f"{news}\n{lettered(cells(state), upwards=True)}\nYou play {SIDES[player]}."

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        return f"{state}, you are {SIDES[player]}"

    def terse_moves(self, state: pyspiel.State, player: int) -> str:
        return f"algebraic, as {next(iter(self.legal_moves(state, player)))}"

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        return look_ahead(state, worth)


def cells(state: pyspiel.State) -> list[str]:
    """Return the rows from the top, empty squares as points.

    >>> cells(pyspiel.load_game("chess").new_initial_state())[0]
    'rnbqkbnr'
    """
    rows = str(state).split()[0].split("/")
    return ["".join("." * int(c) if c.isdigit() else c for c in row) for row in rows]


def _in_row(row: int) -> dict[str, float]:
    """Return what pieces are worth to White in a row from the top."""
    white = {**WORTH, "P": WORTH["P"] + 0.02 * (6 - row) ** 2}
    black = {**WORTH, "P": WORTH["P"] + 0.02 * (row - 1) ** 2}
    return white | {piece.lower(): -worth for piece, worth in black.items()}


ROWS = [_in_row(row) for row in range(8)]


def worth(state: pyspiel.State, player: int) -> float:
    """Return the material of a player, less that of the other; pawns that are far count more."""
    value = 0.0
    for worth_of, line in zip(ROWS, str(state).split()[0].split("/"), strict=True):
        for sign in line:
            value += worth_of.get(sign, 0.0)  # a digit counts empty squares
    return value * (1 if player == 1 else -1)


raw_env, env = turn_based(Chess)
