"""What experts of games share: mixing good moves with random ones, and looking ahead."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyspiel

from coevo.envs.core.parsing import answer
from coevo.envs.core.task import Replies

Worth = Callable[[pyspiel.State, int], float]
"""(state, player) -> how good the state looks for that player, between -DECIDED and DECIDED."""
DECIDED = 1e6
"""What a game that is over counts for, times what it pays."""


def mixed(moves: Mapping[str, int], good: Mapping[int, float], skill: float) -> Replies:
    """Return the replies of an expert: a good move with probability `skill`, else any.

    Args:
        moves: name -> action of all legal moves.
        good: action -> weight; others have none.
        skill: 0..1.

    >>> mixed({"left": 0, "right": 1}, {1: 3.0}, 0.5).probabilities.tolist()
    [0.25, 0.75]
    """
    weights = np.array([good.get(action, 0.0) for action in moves.values()])
    odds = skill * weights / weights.sum() + (1 - skill) / len(weights)
    return Replies(tuple(map(answer, moves)), odds)


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
