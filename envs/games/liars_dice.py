"""Liar's dice: claim how often a face lies under all cups, or doubt the claim; OpenSpiel's.

Agents        player_0 (bids first), player_1; the dice are private
Observation   chat: rules, then the own dice and the bids so far
Action        text ending in a higher bid such as [2-5], at least two fives, or in [liar]
Reward        1 or -1: to the bidder if the doubted bid holds, else to who doubted it
Ends          when a bid is doubted
Options       game="liars_dice(numdice=2,dice_sides=6)": dice 1 to 3 each, sides 2 to 10
References    one die each: value for player_0 -0.0271 with six sides (OpenSpiel), 1/2, 1/9 and 1/16
              with two, three and four sides (our CFR+)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.openspiel import OpenSpielTask


class LiarsDice(OpenSpielTask):
    """Liar's dice for two players and one round."""

    env_id = "coevo/liars_dice-v0"
    default_game: ClassVar[str] = "liars_dice"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "numdice": range(1, 4),
        "dice_sides": range(2, 11),
    }
    title: ClassVar[str] = "Liar's dice"
    fixed_names: ClassVar[bool] = True
    terse_joint: ClassVar[str] = " "

    def rules_text(self, player: int) -> str:
        dice, sides = size(self.game)
        each = "one die" if dice == 1 else f"{dice} dice"
        order = "bid first" if player == 0 else "bid second"
        return (
            f"Liar's dice for two players, who roll {each} each under a cup, with the faces 1 to "
            f"{sides}; nobody sees the other's. In turn they bid how many dice of all, their own "
            f"and the other's, show a face: [2-3] says that at least two dice are threes. The face "
            f"{sides} is wild and counts as every face. A bid must be higher than the last one: "
            "more dice, or as many of a higher face. Instead of a bid a player may say [liar]: "
            "then the dice are shown, the last bidder wins if the bid is true, and else the "
            "other.\n"
            f"You are player_{player} and {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return bid_name(self.game, action)

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        said = bids(state)
        log = ", ".join(f"player_{i % 2} {b}" for i, b in enumerate(said)) or "none yet"
        return f"Your dice: {_row(dice_of(state, player))}.\nBids: {log}."

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        own = " ".join(map(str, dice_of(state, player)))
        return f"You rolled {own}. Bids: {' '.join(bids(state)) or 'none'}"

    def draw_state(self, state: pyspiel.State) -> str:
        rolled = "   ".join(f"player_{p}: {_row(dice_of(state, p))}" for p in range(2))
        return f"{rolled}   bids: {', '.join(bids(state)) or 'none yet'}"


def size(game: pyspiel.Game) -> tuple[int, int]:
    """Return the number of dice of each player and their sides."""
    settings = game.get_parameters()
    return int(settings["numdice"]), int(settings["dice_sides"])


def dice_of(state: pyspiel.State, player: int) -> list[int]:
    """Return what a player rolled, in order of size."""
    dice, _ = size(state.get_game())
    return sorted(face + 1 for face in state.history()[player * dice : (player + 1) * dice])


def bids(state: pyspiel.State) -> list[str]:
    """Return the bids so far."""
    game = state.get_game()
    return [bid_name(game, action) for action in state.history()[2 * size(game)[0] :]]


def bid_name(game: pyspiel.Game, action: int) -> str:
    """Name a bid by number and face.

    >>> [bid_name(pyspiel.load_game("liars_dice"), a) for a in (0, 7, 12)]
    ['1-1', '2-2', 'liar']
    """
    dice, sides = size(game)
    if action == 2 * dice * sides:
        return "liar"
    return f"{action // sides + 1}-{action % sides + 1}"


def _row(dice: Sequence[int]) -> str:
    return ", ".join(map(str, dice))


raw_env, env = turn_based(LiarsDice)
