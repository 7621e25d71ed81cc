"""Sheriff: smuggle, bribe, inspect (Farina et al., 2019); OpenSpiel's `sheriff`.

Agents        player_0 (smuggler), player_1 (sheriff)
Observation   chat: rules, then the cargo (smuggler only), the bribes and the answers so far
Action        smuggler: text ending in [load 2], then in [bribe 1]; sheriff: in [pass] or [inspect]
Reward        see the rules; only the last bribe and the last answer count
Ends          after all rounds of a bribe and an answer
Options       game="sheriff(num_rounds=4)": rounds 1 to 4; max_items and max_bribe 1 to 5
References    the expert plays a best response to random play: no cargo and no bribe, and
              inspection unless the bribe is worth more
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.openspiel import OpenSpielTask

ROLES = ("smuggler", "sheriff")


class Sheriff(OpenSpielTask):
    """The sheriff's game, an extensive-form game with talk about a bribe."""

    env_id = "coevo/sheriff-v0"
    default_game: ClassVar[str] = "sheriff(num_rounds=2)"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "num_rounds": range(1, 5),
        "max_items": range(1, 6),
        "max_bribe": range(1, 6),
    }
    title: ClassVar[str] = "Sheriff"
    terse_joint: ClassVar[str] = ", "

    def rules_text(self, player: int) -> str:
        size = self.game.get_parameters()
        return (
            "The sheriff's game for a smuggler, player_0, and a sheriff, player_1. The smuggler "
            f"loads 0 to {size['max_items']} illegal items, which the sheriff does not see. Then, "
            f"in {size['num_rounds']} rounds, the smuggler offers a bribe of 0 to "
            f"{size['max_bribe']} coins, and the sheriff says whether it would pass or inspect. "
            "Only the last round counts. If the sheriff passes, the smuggler pays the bribe and "
            f"earns {size['item_value']:g} for each illegal item. If the sheriff inspects and "
            f"finds some, the smuggler pays {size['item_penalty']:g} for each of them to the "
            f"sheriff; if there are none, the sheriff pays {size['sheriff_penalty']:g} to the "
            "smuggler.\n"
            f"You are player_{player}, the {ROLES[player]}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        what, _, value = str(state.action_to_string(player, action)).strip(")").partition("(")
        number = value.partition("=")[2]
        if what == "InspectionFeedback":
            return "inspect" if number == "True" else "pass"
        return f"{'load' if what == 'PlaceIllegalItems' else 'bribe'} {number}"

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        made = self.moves(state)
        if not made:
            return "Load your cargo."
        rounds = self.game.get_parameters()["num_rounds"]
        said = [f"player_{i % 2} says {move}" for i, move in enumerate(made[1:])]
        cargo = f"Illegal items in your cargo: {made[0].removeprefix('load ')}. "
        return (
            f"{cargo if player == 0 else ''}Round {1 + len(said) // 2} of {rounds}. "
            f"So far: {', '.join(said) or 'nothing was said'}."
        )

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        made = self.moves(state)
        cargo = f" Cargo {made[0].removeprefix('load ')}." if made and player == 0 else ""
        left = self.game.get_parameters()["num_rounds"] - max(0, len(made) - 1) // 2
        said = ", ".join(made[1:]) or "nothing"
        return f"You are the {ROLES[player]}.{cargo} Said: {said}. Rounds left {left}"

    def draw_state(self, state: pyspiel.State) -> str:
        return ", ".join(self.moves(state)) or "nothing is loaded yet"

    def moves(self, state: pyspiel.State) -> list[str]:
        """Name all moves so far, in order: the cargo, then bribes and answers in turn."""
        past, names = self.game.new_initial_state(), []
        for action in state.history():
            names.append(self.move_name(past, past.current_player(), action))
            past.apply_action(action)
        return names

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Load and offer nothing; inspect unless the bribe is worth more against a random cargo."""
        names = self.legal_moves(state, player)
        if player == 0:
            return {min(names.values()): 1.0}
        size = self.game.get_parameters()
        most, bribe = int(size["max_items"]), int(self.moves(state)[-1].removeprefix("bribe "))
        found = size["item_penalty"] * most / 2 - size["sheriff_penalty"] / (most + 1)
        return {names["pass" if bribe > found else "inspect"]: 1.0}


raw_env, env = turn_based(Sheriff)
