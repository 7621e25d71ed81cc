"""Pig: roll on or bank what the turn has brought (Neller and Presser, 2004); OpenSpiel's `pig`.

Agents        player_0 (moves first), player_1
Observation   chat: rules, then what was rolled since, the scores and the total of this turn
Action        text ending in [roll] or [stop]
Reward        1 to who reaches the target first, -1 to the other
Ends          when the target is banked; a draw after 1000 rolls and moves
Options       game="pig(winscore=100)": target 5 to 100; diceoutcomes 2 to 20; piglet true, where
              every roll but a 1 adds one point
References    optimal play by value iteration: the first player wins 0.6156 of the games to 20
              points, and 0.5306 to 100, as in Neller and Presser (2004)
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.experts import best
from coevo.envs.games.openspiel import OpenSpielTask

ROLL, STOP = 0, 1
CONVERGED = 1e-8
"""Largest change of a probability at which value iteration ends."""


class Pig(OpenSpielTask):
    env_id = "coevo/pig-v0"
    default_game: ClassVar[str] = "pig(winscore=20)"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "winscore": range(5, 101),
        "diceoutcomes": range(2, 21),
        "piglet": (False, True),
    }
    title: ClassVar[str] = "Pig"

    def rules_text(self, player: int) -> str:
        settings = self.game.get_parameters()
        target, faces = settings["winscore"], settings["diceoutcomes"]
        order = "first" if player == 0 else "second"
        added = "one point" if settings["piglet"] else "its points"
        return (
            f"Pig for two players and a die with the faces 1 to {faces}. In your turn you roll as "
            f"often as you like: every roll but a 1 adds {added} to the total of the turn, and a 1 "
            "loses that total and ends the turn. Stop adds the total to your score and ends the "
            f"turn. Who first has a score of {target} wins.\n"
            f"You are player_{player} and move {order}."
        )

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        scores, total = table(state)
        news = self.news(state, player)
        now = (
            f"Score: you {scores[player]}, player_{1 - player} {scores[1 - player]}. "
            f"Total of this turn: {total}."
        )
        return f"{news}\n{now}" if news else now

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        scores, total = table(state)
        target = self.game.get_parameters()["winscore"]
        mine, other = scores[player], scores[1 - player]
        return f"First to {target}. You {mine}, other {other}, this turn {total}"

    def draw_state(self, state: pyspiel.State) -> str:
        scores, total = table(state)
        return f"player_0: {scores[0]}   player_1: {scores[1]}   this turn: {total}"

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        legal = state.legal_actions()
        if len(legal) == 1:
            return {legal[0]: 1.0}
        scores, total = table(state)
        rolled, stopped = choices(self.game)
        at = (scores[player], scores[1 - player], total)
        return best({ROLL: float(rolled[at]), STOP: float(stopped[at])})


def table(state: pyspiel.State) -> tuple[tuple[int, int], int]:
    """Return both scores and the total of the turn.

    >>> state = pyspiel.load_game("pig").new_initial_state()
    >>> state.apply_action(ROLL); state.apply_action(5)
    >>> table(state)
    ((0, 0), 6)
    """
    first, second, total = map(int, re.findall(r"\d+", str(state).partition("Current")[0]))
    return (first, second), total


def choices(game: pyspiel.Game) -> tuple[np.ndarray, np.ndarray]:
    """Return the chances to win by rolling and by stopping, then playing on in the best way.

    Both are arrays by own score, the other's score and the total of the turn.
    """
    settings = game.get_parameters()
    faces, target = int(settings["diceoutcomes"]), int(settings["winscore"])
    points = (1,) * (faces - 1) if settings["piglet"] else tuple(range(2, faces + 1))
    return _choices(target, points)


@functools.lru_cache(maxsize=4)
def _choices(target: int, points: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Iterate P(i, j, k) = max(roll, stop) of Neller and Presser (2004), section 3."""
    own, _, total = np.indices((target,) * 3)
    won = own + total >= target
    faces, change = len(points) + 1, 1.0
    wins = np.where(won, 1.0, 0.5)
    while change > CONVERGED:
        turned = 1 - wins[:, :, 0].T  # what a player has whose turn just ended
        rolled = np.broadcast_to(turned[:, :, None] / faces, wins.shape).copy()
        for add in points:
            beyond = np.ones_like(wins)
            beyond[:, :, : max(0, target - add)] = wins[:, :, add:]
            rolled += beyond / faces
        banked = np.minimum(own + total, target - 1)
        stopped = np.where(won, 1.0, turned[banked, np.arange(target)[None, :, None]])
        new = np.where(won, 1.0, np.maximum(rolled, stopped))
        change, wins = float(np.abs(new - wins).max()), new
    return rolled, stopped


raw_env, env = turn_based(Pig)
