"""What happened on the way to a state, in the names that moves had when they were made."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyspiel

from coevo.envs.games.states import CHANCE, decisions

NameOf = Callable[[pyspiel.State, int, int], str]
Names = dict[int, str]
"""Player -> name of what it did at one step; chance is player -1."""


class Story:
    """The steps of one growing play, each named once however often they are told.

    Args:
        game: what is played.
    """

    def __init__(self, game: pyspiel.Game) -> None:
        self._told = game.new_initial_state()
        self._steps: list[Names] = []

    def since(self, state: pyspiel.State, player: int, name_of: NameOf) -> tuple[bool, list[Names]]:
        """Return what happened since a player's last move, and whether it has moved at all.

        Args:
            state: a later state of the same play than all before.
            player: whose last move; what others did at the same time comes first.
            name_of: (state, player, action) -> name.
        """
        for past, actions in decisions(state, self._told):
            self._steps.append({p: name_of(past, p, a) for p, a in actions.items()})
        recent: list[Names] = []
        for step in reversed(self._steps):
            recent.append(step)
            if player in step:
                return True, recent[::-1]
        return False, recent[::-1]


def told(steps: list[Names], player: int) -> Iterator[str]:
    """Yield what others and chance did, in words.

    >>> list(told([{0: "left", 1: "up"}, {-1: "heads"}], player=0))
    ['player_1 plays up', 'heads']
    """
    for step in steps:
        for mover in sorted(step.keys() - {player}):
            yield step[mover] if mover == CHANCE else f"player_{mover} plays {step[mover]}"
