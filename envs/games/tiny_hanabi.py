"""Tiny Hanabi: two cards, two moves, one shared payoff (Foerster et al., 2019); OpenSpiel's.

Agents        player_0 (moves first), player_1 (sees that move); the cards are private
Observation   chat: rules with the payoff table, then the own card and the partner's move
Action        text ending in [left], [middle] or [right]
Reward        the same for both, 0 to 10, from a table of cards and moves
Ends          after one move of each
References    optimum 10 (the first move reveals the card); best without that 8; random play 3.72
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.openspiel import OpenSpielTask

CARDS = ("red", "blue")
MOVES = ("left", "middle", "right")


class TinyHanabi(OpenSpielTask):
    env_id = "coevo/tiny_hanabi-v0"
    default_game: ClassVar[str] = "tiny_hanabi"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {}
    title: ClassVar[str] = "Tiny Hanabi"

    def rules_text(self, player: int) -> str:
        order = "first" if player == 0 else "second"
        return (
            "Tiny Hanabi for two partners, who win or lose together. Each partner gets a card, red "
            "or blue with equal chance, that the other does not see. player_0 says left, middle or "
            "right; player_1 hears it and says left, middle or right as well. Then the play is "
            "over, and both partners get the same payoff. In this table a line is a pair of cards "
            "and player_0's move, and its numbers are the payoffs if player_1 says left, middle, "
            "right.\n"
            f"{payoff_table(self.game)}\n"
            f"You are player_{player} and move {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return MOVES[action]

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        said = [f"player_0 said {MOVES[a]}." for a in state.history()[2:]] or ["You speak first."]
        return f"{said[0]} Your card: {CARDS[state.history()[player]]}."

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        said = [MOVES[a] for a in state.history()[2:]] or ["nothing"]
        card = CARDS[state.history()[player]]
        return f"You are player {player}. Card: {card}. Partner said: {said[0]}"

    def draw_state(self, state: pyspiel.State) -> str:
        cards = [CARDS[a] for a in state.history()[:2]]
        said = ", ".join(MOVES[a] for a in state.history()[2:]) or "nothing yet"
        return f"player_0: {cards[0]}   player_1: {cards[1]}   said: {said}"


def payoff_table(game: pyspiel.Game) -> str:
    """Play out all pairs of cards and moves, and list the payoffs."""
    lines = []
    for first, second, said in ((c, d, m) for c in range(2) for d in range(2) for m in range(3)):
        paid = []
        for reply in range(3):
            state = game.new_initial_state()
            for action in (first, second, said, reply):
                state.apply_action(action)
            paid.append(f"{state.returns()[0]:g}")
        cards = f"player_0 {CARDS[first]}, player_1 {CARDS[second]}"
        lines.append(f"{cards}; {MOVES[said]}: {', '.join(paid)}")
    return "\n".join(lines)


raw_env, env = turn_based(TinyHanabi)
