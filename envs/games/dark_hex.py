"""Dark hex: Hex without seeing the other's stones (Browne, 2000); OpenSpiel's `dark_hex`.

Agents        player_0 (X, top to bottom, moves first), player_1 (O, left to right)
Observation   chat: rules, then the board as far as this seat knows it
Action        text ending in a cell that this seat does not know to be taken, e.g. [b2]
Reward        1 to who joins the own sides, -1 to the other
Ends          when one chain is complete; there are no draws
Options       game="dark_hex(board_size=4,gameversion=adh)": 2 to 8 cells a side; adh takes the turn
              from who tries a taken cell
References    the expert plays Hex as if all cells that it does not know were empty
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.board import MARKS, lettered
from coevo.envs.games.experts import best
from coevo.envs.games.hex import any_empty, cells, gain, hex_rules, hex_seat, terse_hex
from coevo.envs.games.openspiel import OpenSpielTask
from coevo.envs.games.phantom_tic_tac_toe import known, last_try

TAKEN = {"cdh": "moves again at once", "adh": "loses the turn"}
"""What happens to who tries a taken cell, by version of the game."""


class DarkHex(OpenSpielTask):
    env_id = "coevo/dark_hex-v0"
    default_game: ClassVar[str] = "dark_hex"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "board_size": range(2, 9),
        "gameversion": tuple(TAKEN),
    }
    title: ClassVar[str] = "Dark hex"

    def rules_text(self, player: int) -> str:
        taken = TAKEN[self.game.get_parameters()["gameversion"]]
        order = "first" if player == 0 else "second"
        return (
            f"{hex_rules(self.game)} Nobody sees the stones of the other. Who tries a cell that "
            f"the other has taken is told so, knows that stone from then on, and {taken}.\n"
            f"{hex_seat(player)}, and you move {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return self.cell(action)

    def cell(self, action: int) -> str:
        """Name a cell by its letter and number."""
        row, column = divmod(action, int(self.game.get_parameters()["board_size"]))
        return f"{'abcdefgh'[column]}{row + 1}"

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        rows = known(state, player)
        told = last_try(state, player, rows, self.cell)
        board = lettered(rows, slanted=True)
        return f"{told}Your stones and those you know:\n{board}\nYou play {MARKS[player]}."

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        return terse_hex(known(state, player), player)

    def terse_moves(self, state: pyspiel.State, player: int) -> str:
        return any_empty(known(state, player))

    def draw_state(self, state: pyspiel.State) -> str:
        return lettered(cells(state), slanted=True)

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Play Hex on the board as this seat knows it."""
        rows = known(state, player)
        return best({a: gain(rows, a, player) for a in state.legal_actions()})


raw_env, env = turn_based(DarkHex)
