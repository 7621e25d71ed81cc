"""Breakthrough: bring one piece to the far side (Dan Troyka, 2000); OpenSpiel's `breakthrough`.

Agents        player_0 (X, starts at the top and moves first), player_1 (O, starts at the bottom)
Observation   chat: rules, then the other's last move and the board
Action        text ending in the cells a piece moves from and to, e.g. [a5b4]
Reward        1 to the winner, -1 to the other
Ends          when a piece reaches the far side or a player has none left; there are no draws
Options       game="breakthrough(rows=8,columns=8)": rows 5 to 8, columns 3 to 8
References    the expert looks two moves ahead at pieces and how far they are
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.board import MARKS, LetterBoard
from coevo.envs.games.experts import look_ahead


class Breakthrough(LetterBoard):
    env_id = "coevo/breakthrough-v0"
    default_game: ClassVar[str] = "breakthrough(rows=6,columns=5)"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "rows": range(5, 9),
        "columns": range(3, 9),
    }
    title: ClassVar[str] = "Breakthrough"
    upwards: ClassVar[bool] = True

    def rules_text(self, player: int) -> str:
        way = ("at the top and move down, first", "at the bottom and move up, second")[player]
        return (
            "Breakthrough for two players. Each has two rows of pieces on its side of the board. "
            "In turn the players move one piece one cell forward, straight or diagonally, onto an "
            "empty cell; a diagonal move may also take a piece of the other. Who first brings a "
            "piece to the far side wins, and so does who takes all pieces of the other. A move is "
            "named by the cells from and to, as [a2b3].\n"
            f"You are player_{player}, your pieces are {MARKS[player]}; you start {way}."
        )

    def cells(self, state: pyspiel.State) -> list[str]:
        return cells(state)

    def terse_moves(self, state: pyspiel.State, player: int) -> str:
        first = next(iter(self.legal_moves(state, player)))
        return f"from and to, one step forward, as {first}"

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        return look_ahead(state, worth)


def cells(state: pyspiel.State) -> list[str]:
    """Return the rows from the top, player_0's pieces as X."""
    rows = str(state).strip().split("\n")[:-1]
    return [row[1:].replace("b", "X").replace("w", "O") for row in rows]


def worth(state: pyspiel.State, player: int) -> float:
    """Return the pieces of a player and how far they are, less those of the other."""
    rows = cells(state)
    last = len(rows) - 1
    first = sum(row.count("X") * (5 + steps**2) for steps, row in enumerate(rows))
    second = sum(row.count("O") * (5 + (last - steps) ** 2) for steps, row in enumerate(rows))
    return float(first - second) * (1 - 2 * player)


raw_env, env = turn_based(Breakthrough)
