"""What experts of games share: the best moves by value, and looking ahead."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyspiel

Worth = Callable[[pyspiel.State, int], float]
"""(state, player) -> how good the state looks for that player, between -DECIDED and DECIDED."""
DECIDED = 1e6
"""What a game that is over counts for, times what it pays."""


def best(values: Mapping[int, float]) -> dict[int, float]:
    """Return the actions of the highest value, all with weight 1.

    >>> best({3: 0.5, 4: 1.0, 7: 1.0})
    {4: 1.0, 7: 1.0}
    """
    most = max(values.values())
    return {action: 1.0 for action, value in values.items() if value >= most - 1e-9}


def look_ahead(state: pyspiel.State, worth: Worth, plies: int = 2) -> dict[int, float]:
    """Return the moves that look best after so many moves of both, in a game without chance.

    Args:
        state: where the player who looks is to move.
        worth: of the states where looking ends.
        plies: moves that are looked at, one's own included.
    """
    player = state.current_player()
    children = {action: state.child(action) for action in state.legal_actions()}
    return best({a: _value(c, worth, plies - 1, player) for a, c in children.items()})


def _value(state: pyspiel.State, worth: Worth, plies: int, player: int) -> float:
    if state.is_terminal():
        return DECIDED * float(state.player_return(player))
    if plies == 0:
        return worth(state, player)
    choose = max if state.current_player() == player else min
    children = (state.child(action) for action in state.legal_actions())
    return choose(_value(child, worth, plies - 1, player) for child in children)
