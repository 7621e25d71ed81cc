"""Trade with talk: say something, then name a swap in secret (Sokota et al., 2021); OpenSpiel's.

Agents        player_0, player_1, who say a word one after the other, then each name a swap
Observation   chat: rules, then the own item and what was said
Action        text ending in an item to say, e.g. [coin], then in a swap, e.g. [coin for book]
Reward        1 to both if each gives what it has and gets what the other has, else 0
Ends          after two moves of each
Options       game="trade_comm(num_items=10)": 2 to 10 items
References    optimum 1 (both say what they have); with 3 items random play 1/81 and the best
              without talk 1/9
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.openspiel import OpenSpielTask

ITEMS = ("coin", "book", "lamp", "rope", "drum", "ring", "bell", "fork", "boat", "shoe")


class TradeComm(OpenSpielTask):
    env_id = "coevo/trade_comm-v0"
    default_game: ClassVar[str] = "trade_comm(num_items=3)"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {"num_items": range(2, 11)}
    title: ClassVar[str] = "Trade"

    def rules_text(self, player: int) -> str:
        order = "first" if player == 0 else "second"
        return (
            "A trading game for two partners, who win or lose together. Each has one item that the "
            f"other does not see: {', '.join(self.items())}, each with equal chance. First "
            "player_0, then player_1 says the name of any item; both hear it. Then each names a "
            "swap that the other does not see: the item that it gives for the item that it gets. "
            "If each gives what it has and gets what the other has, both get 1 point, else "
            "nothing; two equal items are swapped for each other too.\n"
            f"You are player_{player} and speak {order}."
        )

    def items(self) -> tuple[str, ...]:
        """Return the items of the game."""
        return ITEMS[: int(self.game.get_parameters()["num_items"])]

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        items = self.items()
        if action < len(items):
            return items[action]
        given, got = divmod(action - len(items), len(items))
        return f"{items[given]} for {items[got]}"

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        said = ", ".join(f"player_{i} said {w}" for i, w in enumerate(self.said(state)))
        now = "Name your swap." if len(self.said(state)) == 2 else "Say an item."
        return f"You have: {self.item(state, player)}. {said or 'Nothing was said'}.\n{now}"

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        said = " ".join(self.said(state)) or "nothing"
        return f"You are player {player}. You have {self.item(state, player)}. Said: {said}"

    def terse_moves(self, state: pyspiel.State, player: int) -> str:
        if len(self.said(state)) < 2:
            return super().terse_moves(state, player)
        return f"give for get, as {self.items()[0]} for {self.items()[1]}"

    def draw_state(self, state: pyspiel.State) -> str:
        held = "   ".join(f"player_{p}: {self.item(state, p)}" for p in range(2))
        swaps = [self.move_name(state, p, a) for p, a in enumerate(state.history()[3:])]
        return f"{held}   said: {', '.join(self.said(state))}   swaps: {', '.join(swaps)}"

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Say what one has, and swap it for what the other said."""
        count, own = len(self.items()), self.dealt(state)[player]
        if len(self.said(state)) < 2:
            return {own: 1.0}
        return {count * (1 + own) + int(state.history()[2 - player]): 1.0}

    def dealt(self, state: pyspiel.State) -> tuple[int, int]:
        """Return the numbers of both items."""
        first, second = divmod(int(state.history()[0]), len(self.items()))
        return first, second

    def item(self, state: pyspiel.State, player: int) -> str:
        return self.items()[self.dealt(state)[player]]

    def said(self, state: pyspiel.State) -> list[str]:
        return [self.items()[action] for action in state.history()[1:3]]


raw_env, env = turn_based(TradeComm)
