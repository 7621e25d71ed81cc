"""Othello: outflank discs to turn them over (Reversi, 1883); OpenSpiel's `othello`.

Agents        player_0 (X, moves first), player_1 (O)
Observation   chat: rules, then the other's last move, the board and the count of discs
Action        text ending in a cell, e.g. [d3], or in [pass] where no disc can be turned
Reward        1 to who has more discs, -1 to the other, 0 each if equal
Ends          when nobody can move, after about 60 moves
References    the expert looks one move ahead at corners, edges and the moves left to the other
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.board import MARKS, LetterBoard
from coevo.envs.games.experts import look_ahead

_EDGE = (100, -20, 10, 5)
_SECOND = (-20, -50, -2, -2)
_THIRD = (10, -2, 1, 1)
_FOURTH = (5, -2, 1, 1)
_QUARTER = (_EDGE, _SECOND, _THIRD, _FOURTH)
WEIGHTS = tuple((*row, *row[::-1]) for row in (*_QUARTER, *_QUARTER[::-1]))
"""What a disc on each cell counts for the expert: corners are kept, their neighbours give them
away."""


class Othello(LetterBoard):
    env_id = "coevo/othello-v0"
    default_game: ClassVar[str] = "othello"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {}
    title: ClassVar[str] = "Othello"
    terse_most: ClassVar[int] = 10

    def rules_text(self, player: int) -> str:
        order = "first" if player == 0 else "second"
        return (
            "Othello for two players on a board of eight rows and eight columns. A move puts a "
            "disc on an empty cell so that discs of the other lie in a line, across, up or "
            "diagonally, between the new disc and another one of your own; all discs between them "
            "become yours. Who cannot move so has to pass. When nobody can move, who has more "
            "discs wins.\n"
            f"You are player_{player}, your discs are {MARKS[player]}, and you move {order}."
        )

    def cells(self, state: pyspiel.State) -> list[str]:
        return cells(state)

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        drawn = "".join(cells(state))
        mine, other = drawn.count(MARKS[player]), drawn.count(MARKS[1 - player])
        return f"{super().describe_fully(state, player)} Discs: you {mine}, the other {other}."

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        return look_ahead(state, worth, plies=1)


def cells(state: pyspiel.State) -> list[str]:
    """Return the rows from the top."""
    rows = [line.split()[1:-1] for line in str(state).split("\n") if line[:1].isdigit()]
    return ["".join(row).upper().replace("-", ".") for row in rows]


def worth(state: pyspiel.State, player: int) -> float:
    """Return the weights of a player's discs less those of the other's, and its freedom to move."""
    signs = {MARKS[player]: 1, MARKS[1 - player]: -1, ".": 0}
    held = sum(
        signs[mark] * weight
        for row, weights in zip(cells(state), WEIGHTS, strict=True)
        for mark, weight in zip(row, weights, strict=True)
    )
    mobile = len(state.legal_actions())
    return float(held + 4 * (mobile if state.current_player() == player else -mobile))


raw_env, env = turn_based(Othello)
