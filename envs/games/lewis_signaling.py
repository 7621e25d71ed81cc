"""Signalling: a sender names what only it sees (Lewis, 1969); OpenSpiel's `lewis_signaling`.

Agents        player_0 (sender, sees the picture), player_1 (receiver, sees the message)
Observation   chat: rules, then the picture or the message
Action        sender: text ending in a message, e.g. [foo]; receiver: in a picture, e.g. [moon]
Reward        1 to both if the receiver names the picture, else 0
Ends          after one move of each
References    optimum 1; without telling, or by chance, 1/3
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.openspiel import OpenSpielTask

PICTURES = ("sun", "moon", "star")
MESSAGES = ("foo", "bar", "baz")


class LewisSignaling(OpenSpielTask):
    """The signalling game with three pictures and three messages."""

    env_id = "coevo/lewis_signaling-v0"
    default_game: ClassVar[str] = "lewis_signaling"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {}
    title: ClassVar[str] = "Signals"

    def rules_text(self, player: int) -> str:
        role = (
            "player_0, the sender: answer with a message",
            "player_1, the receiver: answer with a picture",
        )[player]
        return (
            "A signalling game for two partners, who win or lose together. The sender sees one of "
            f"three pictures, {', '.join(PICTURES)}, each with equal chance. It sends one of three "
            f"messages, {', '.join(MESSAGES)}, which mean nothing by themselves. The receiver sees "
            "the message alone and names a picture. If it is the right one both get 1 point, else "
            "nothing.\n"
            f"You are {role}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return (MESSAGES, PICTURES)[player][action]

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        return f"{seen(state, player)}."

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        return f"You are player {player}. {seen(state, player)}"

    def draw_state(self, state: pyspiel.State) -> str:
        words = zip(("picture", "message", "answer"), (PICTURES, MESSAGES, PICTURES), strict=True)
        made = zip(words, state.history(), strict=False)
        return "   ".join(f"{what}: {names[action]}" for (what, names), action in made)

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Send the message with the number of the picture, and read it so."""
        return {state.history()[player]: 1.0}


def seen(state: pyspiel.State, player: int) -> str:
    """Say what a seat sees: the picture, or the message."""
    what, names = (("Picture", PICTURES), ("Message", MESSAGES))[player]
    return f"{what}: {names[state.history()[player]]}"


raw_env, env = turn_based(LewisSignaling)
