"""Players of 2x2 games who learn within an episode: from the history alone, without weights."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from coevo.agents.agent import Agent
from coevo.agents.strategies import IteratedStrategy, Moves, Rule, two_player_table

Choose = Callable[[np.ndarray, Moves, Moves], float]
"""(own payoffs [own action, other's action], own moves, the other's moves) -> P(action 0)."""


class Learner(IteratedStrategy):
    """A player of two-player games of two actions who knows its payoffs.

    Args:
        name: for records.
        choose: probability of action 0.
    """

    def __init__(self, name: str, choose: Choose) -> None:
        super().__init__(name)
        self._choose = choose

    def rule(self, payoffs: np.ndarray, player: int) -> Rule:
        r, s, t, p = two_player_table(self.name, payoffs, player)
        return functools.partial(self._choose, np.array([[r, s], [t, p]]))


def fictitious_play(own: np.ndarray, mine: Moves, theirs: Moves) -> float:
    """Best-respond to how often the other has taken each action, each once before the start.

    Ties are broken evenly (Brown 1951).

    >>> fictitious_play(np.array([[3, 0], [5, 1]]), [], [])
    0.0
    """
    counts = 1 + np.bincount(np.asarray(theirs, dtype=int), minlength=2)
    worth = own @ counts
    return 0.5 if np.isclose(worth[0], worth[1]) else float(worth[0] > worth[1])


def regret_matching(own: np.ndarray, mine: Moves, theirs: Moves) -> float:
    """Take actions in proportion to what always taking them would have gained (Hart, Mas-Colell).

    Evenly where nothing is regretted.

    >>> regret_matching(np.array([[3, 0], [5, 1]]), [0, 1], [0, 1])
    0.0
    """
    if not len(mine):
        return 0.5
    others = np.asarray(theirs, dtype=int)
    gained = own[:, others].sum(axis=1) - own[np.asarray(mine, dtype=int), others].sum()
    regret = np.maximum(gained, 0.0)
    return float(regret[0] / regret.sum()) if regret.sum() > 0 else 0.5


LEARNERS: dict[str, Callable[[], Agent]] = {
    "fictitious_play": functools.partial(Learner, "fictitious_play", fictitious_play),
    "regret_matching": functools.partial(Learner, "regret_matching", regret_matching),
}
"""Every learner by name."""
