"""Nim: take objects from piles, normal or misere (Bouton, 1901); OpenSpiel's `nim`.

Agents        player_0 (moves first), player_1
Observation   chat: rules, then the other's last move and the piles
Action        text ending in a pile's letter and how many objects to take from it, e.g. [B2]
Reward        1 to who takes the last object, -1 to the other; misere the other way round
Ends          when all piles are empty
Options       game="nim(pile_sizes=1;3;5;7,is_misere=True)": five sets of piles, either form
References    who moves wins where the binary sum of the piles is not 0, so the default is a win
              for player_0; misere is the same, but with piles of one object alone an even number
              of them wins
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.openspiel import OpenSpielTask

LETTERS = "ABCDEFGHIJ"


class Nim(OpenSpielTask):
    env_id = "coevo/nim-v0"
    default_game: ClassVar[str] = "nim(pile_sizes=3;4;5,is_misere=False)"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "pile_sizes": ("3;4;5", "1;3;5;7", "2;3;4", "4;2;3;7", "1;2;3;4;5"),
        "is_misere": (False, True),
    }
    title: ClassVar[str] = "Nim"
    fixed_names: ClassVar[bool] = True
    terse_joint: ClassVar[str] = " "

    def rules_text(self, player: int) -> str:
        order = "first" if player == 0 else "second"
        end = "loses" if is_misere(self.game) else "wins"
        return (
            "Nim for two players. Objects lie in piles, which have letters. The players take turns "
            "to take one or more objects away from one pile, as many as they like: [B2] takes two "
            f"objects from pile B. Who takes the very last object {end}.\n"
            f"You are player_{player} and move {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        pile, taken = decoded(action, len(piles(state)))
        return f"{LETTERS[pile]}{taken}"

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        news = self.news(state, player)
        return f"{news}\n{_row(state)}" if news else _row(state)

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        end = "loses" if is_misere(self.game) else "wins"
        held = " ".join(f"{LETTERS[i]}{n}" for i, n in enumerate(piles(state)))
        return f"Last object {end}. Piles {held}"

    def draw_state(self, state: pyspiel.State) -> str:
        return "\n".join(f"{LETTERS[i]} {'o' * n}".rstrip() for i, n in enumerate(piles(state)))

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Return the moves after which the other loses; where there are none, all moves."""
        won, count = {}, len(piles(state))
        for action in state.legal_actions():
            pile, taken = decoded(action, count)
            left = [n - taken * (i == pile) for i, n in enumerate(piles(state))]
            if not mover_wins(left, is_misere(self.game)):
                won[action] = 1.0
        return won or dict.fromkeys(state.legal_actions(), 1.0)


def is_misere(game: pyspiel.Game) -> bool:
    """Return whether who takes the last object loses."""
    return bool(game.get_parameters()["is_misere"])


def decoded(action: int, count: int) -> tuple[int, int]:
    """Return the pile and how many objects are taken, for so many piles.

    >>> decoded(4, 3)
    (1, 2)
    """
    return action % count, action // count + 1


def piles(state: pyspiel.State) -> list[int]:
    """Return the sizes of the piles now."""
    sizes = str(state.get_game().get_parameters()["pile_sizes"]).split(";")
    left = [int(n) for n in sizes]
    for action in state.history():
        pile, taken = decoded(action, len(left))
        left[pile] -= taken
    return left


def mover_wins(sizes: Sequence[int], misere: bool) -> bool:
    """Return whether the player to move wins with perfect play (Bouton, 1901).

    >>> mover_wins([3, 4, 5], False), mover_wins([1, 3, 5, 7], True), mover_wins([1, 1], True)
    (True, False, True)
    """
    if misere and max(sizes, default=0) < 2:
        return sum(sizes) % 2 == 0
    return functools.reduce(operator.xor, sizes, 0) != 0


def _row(state: pyspiel.State) -> str:
    return f"Piles: {', '.join(f'{LETTERS[i]} has {n}' for i, n in enumerate(piles(state)))}."


raw_env, env = turn_based(Nim)
