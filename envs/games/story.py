"""What happened on the way to a state, in the names that moves had when they were made."""

from __future__ import annotations

from collections.abc import Callable

import pyspiel

from coevo.envs.games.states import CHANCE, decisions

NameOf = Callable[[pyspiel.State, int, int], str]
Names = dict[int, str]
"""Player -> name of what it did at one step; chance is player -1."""


def story(state: pyspiel.State, name_of: NameOf) -> list[Names]:
    """Return every step on the way to a state."""
    return [
        {player: name_of(past, player, action) for player, action in actions.items()}
        for past, actions in decisions(state)
    ]


def since(steps: list[Names], player: int) -> tuple[bool, list[Names]]:
    """Return whether a player has moved at all, and the steps from its last move on.

    What others did at the same time comes first.

    >>> since([{0: "left"}, {1: "up"}, {0: "right"}], 1)
    (True, [{1: 'up'}, {0: 'right'}])
    """
    at = len(steps) - 1
    while at >= 0 and player not in steps[at]:
        at -= 1
    return at >= 0, steps[max(at, 0) :]


def narrated(steps: list[Names], player: int) -> list[str]:
    """Return what others and chance did, in words.

    >>> narrated([{0: "left", 1: "up"}, {-1: "heads"}], player=0)
    ['player_1 plays up', 'heads']
    """
    said = []
    for step in steps:
        for mover in sorted(step) if len(step) > 1 else step:
            if mover != player:
                name = step[mover]
                said.append(name if mover == CHANCE else f"player_{mover} plays {name}")
    return said
