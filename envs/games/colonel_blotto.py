"""Colonel Blotto: troops for battlefields, both at once (Borel, 1921; OpenSpiel's `blotto`).

Agents        player_0, player_1, who move at the same time
Observation   chat: rules
Action        text ending in the troops for each field, e.g. [5-3-2]
Reward        1 to who wins more fields, -1 to the other, 0 each if equal
Ends          after one move of each
Options       game="blotto(coins=5,fields=3)": troops 1 to 20, fields 2 to 4
References    value 0 by symmetry
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import simultaneous
from coevo.envs.games.openspiel import OpenSpielTask


class ColonelBlotto(OpenSpielTask):
    env_id = "coevo/colonel_blotto-v0"
    default_game: ClassVar[str] = "blotto"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "coins": range(1, 21),
        "fields": range(2, 5),
    }
    title: ClassVar[str] = "Colonel Blotto"

    def rules_text(self, player: int) -> str:
        troops, fields = size(self.game)
        return (
            f"Colonel Blotto for two players. At the same time both share {troops} troops among "
            f"{fields} battlefields; all troops must be placed. A field goes to who placed more "
            "there, and to nobody if both placed as many. Who wins more fields wins the game; with "
            "equally many it is a draw.\n"
            f"You are player_{player}. A move gives your troops field by field, joined by dashes."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return str(state.action_to_string(player, action)).strip("[]").replace(",", "-")

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        troops, fields = size(self.game)
        return f"Place {troops} troops on {fields} fields."

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        return "Most fields win"

    def terse_moves(self, state: pyspiel.State, player: int) -> str:
        troops, fields = size(self.game)
        first = self.name_of(state, player, state.legal_actions(player)[-1])
        return f"troops on {fields} fields, sum {troops}, as {first}"

    def draw_state(self, state: pyspiel.State) -> str:
        start = self.game.new_initial_state()
        placed = [self.move_name(start, p, a) for p, a in enumerate(state.history())]
        return "   ".join(f"player_{p}: {move}" for p, move in enumerate(placed)) or "nothing yet"


def size(game: pyspiel.Game) -> tuple[int, int]:
    """Return the numbers of troops and of fields."""
    settings = game.get_parameters()
    return int(settings["coins"]), int(settings["fields"])


raw_env, env, parallel_env = simultaneous(ColonelBlotto)
