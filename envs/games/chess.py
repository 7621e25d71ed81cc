"""Chess: OpenSpiel's `chess`, by the rules of FIDE.

Agents        player_0 (black), player_1 (white, moves first), as OpenSpiel numbers them
Observation   chat: rules, then the other's last move and the board
Action        text ending in a legal move in standard notation, e.g. [Nf3], [exd5], [O-O]
Reward        1 to who mates, -1 to the other, 0 each for a draw
Ends          at mate, stalemate, the third repetition, fifty moves of each without a capture or a
              pawn's move, or too few pieces; random play lasts some 350 moves
References    none: it is in no suite, for its length; the expert looks two moves ahead at pieces
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.games.board import LetterBoard
from coevo.envs.games.experts import look_ahead

SIDES = ("black", "white")
VALUES = {"p": 1.0, "n": 3.0, "b": 3.0, "r": 5.0, "q": 9.0, "k": 0.0}
"""What pieces count for the expert (Shannon, 1950)."""
CENTRE = 0.05
"""What it adds for a step of a piece towards the centre."""


class Chess(LetterBoard):
    """Chess, with moves in standard algebraic notation."""

    env_id = "coevo/chess-v0"
    default_game: ClassVar[str] = "chess"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {}
    title: ClassVar[str] = "Chess"
    upwards: ClassVar[bool] = True
    terse_most: ClassVar[int] = 8

    def rules_text(self, player: int) -> str:
        """Say what is played and who this seat is."""
        return (
            "Chess by the usual rules. Moves are named in standard algebraic notation, as e4, Nf3, "
            "exd5, O-O or e8=Q. On the board white's pieces are capitals (K, Q, R, B, N, P) and "
            "black's are small letters. The third repetition of a position and fifty moves of each "
            "without a capture or a pawn's move are draws.\n"
            f"You are player_{player} and play {SIDES[player]}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        """Name a move in standard algebraic notation."""
        return str(state.action_to_string(player, action))

    def cells(self, state: pyspiel.State) -> list[str]:
        """Return the rows from the top."""
        return cells(state)

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        """Return the other's last move and the drawn board."""
        news = self.news(state, player) or self.opening
        return f"{news}\n{self.board(state)}\nYou play {SIDES[player]}."

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        """Return the position in Forsyth-Edwards notation, which says who is to move."""
        return str(state).rsplit(" ", 2)[0]

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Look two moves ahead."""
        return look_ahead(state, worth)


def cells(state: pyspiel.State) -> list[str]:
    """Return the rows from the top, points where no piece stands."""
    rows = str(state).split(" ")[0].split("/")
    return ["".join("." * int(c) if c.isdigit() else c for c in row) for row in rows]


def worth(state: pyspiel.State, player: int) -> float:
    """Return the pieces of a player, better in the centre, less those of the other."""
    total = 0.0
    for r, row in enumerate(cells(state)):
        for c, piece in enumerate(row):
            if piece != ".":
                near = 7 - abs(r - 3.5) - abs(c - 3.5)
                value = VALUES[piece.lower()] + CENTRE * near * (piece.lower() != "k")
                total += value if piece.isupper() else -value
    return total * (2 * player - 1)


raw_env = raw_factory(Chess)
env = aec_factory(Chess)
