"""Play of mixed skill in any environment, from which the starter model's transcripts are made."""

from __future__ import annotations

import functools

import numpy as np
import pyspiel

from coevo.agents.agent import Request
from coevo.agents.scripted import MoveAgent, expert_replies, uniform
from coevo.agents.strategies.oracle import Solution, TreeSearch, game_of, solve, state_of
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.task import Replies


class ExpertAgent(MoveAgent):
    """Plays well with probability `skill`, else a uniformly random legal move.

    Where the environment has an expert it does as that one, at the same skill. Elsewhere playing
    well is the oracle's move where the game is solved; in larger games of perfect information it is
    a look one move ahead; in large Goofspiel it is to bid what the prize is worth, the best reply
    to random bids (Ross, 1971); in other games everything is random. An environment with neither an
    expert nor an OpenSpiel game raises ConfigError, unless `skill` is 0.
    """

    def __init__(self, skill: float = 0.7) -> None:
        if not 0 <= skill <= 1:
            near = f"; the nearest is {min(max(skill, 0), 1)}" if skill == skill else ""
            raise ConfigError(f"skill={skill} must lie in 0..1{near}")
        self.skill = skill
        self.name = f"expert:{skill:g}"

    def speech(self, request: Request) -> Replies:
        replies = expert_replies(request, self.skill)
        if replies is None:
            self._check(request)
        return replies or super().speech(request)

    def odds(self, request: Request) -> np.ndarray:
        said = expert_replies(request, self.skill)
        if said is not None:  # one reply for each legal move, in their order
            return said.probabilities
        self._check(request)
        if not self.skill:
            return uniform(request)
        return self.skill * _good(request) + (1 - self.skill) * uniform(request)

    def _check(self, request: Request) -> None:
        if self.skill and "game" not in request.info:
            raise ConfigError(
                f"{self.name}: no expert for seat {request.seat}. The environment is no OpenSpiel "
                "game and its task defines no `expert`; expert:0 and random play anywhere"
            )


def _good(request: Request) -> np.ndarray:
    game = game_of(request.info)
    solution = _solution(game)
    if isinstance(solution, TreeSearch):
        return look_ahead(state_of(solution.game, request.info))
    if solution is not None:
        return solution.odds(request.info)
    if game.startswith("goofspiel"):
        return match_prize(request.info["information_state"], request.info["player"])
    return uniform(request)


def look_ahead(state: pyspiel.State) -> np.ndarray:
    """Win if one move wins; else do not let the other win at once; prefer central columns."""
    legal, mover = state.legal_actions(), state.current_player()
    children = [state.child(a) for a in legal]
    good = np.array([_won(c, mover) for c in children])
    if not good.any():
        good = ~np.array([_wins_at_once(c, 1 - mover) for c in children])
    if not good.any():
        good[:] = True
    weights = good * _preference(state, legal)
    return weights / weights.sum()


def match_prize(information_state: str, player: int) -> np.ndarray:
    """Bid the card that is nearest to the prize: the probability of each card in hand, rising.

    `information_state` is OpenSpiel's text of what a Goofspiel player knows.
    """
    lines = dict(line.split(": ") for line in information_state.splitlines() if ": " in line)
    prize = int(lines["Point card sequence"].split()[-1])
    distance = np.abs(np.array(lines[f"P{player} hand"].split(), dtype=int) - prize)
    nearest = distance == distance.min()
    return nearest / nearest.sum()


def _won(state: pyspiel.State, player: int) -> bool:
    return bool(state.is_terminal() and state.player_return(player) > 0)


def _wins_at_once(state: pyspiel.State, player: int) -> bool:
    if state.current_player() != player:
        return _won(state, player)
    return any(_won(state.child(a), player) for a in state.legal_actions())


def _preference(state: pyspiel.State, legal: list[int]) -> np.ndarray:
    """Return weights: in Connect Four half as much for every step away from the centre."""
    if state.get_game().get_type().short_name != "connect_four":
        return np.ones(len(legal))
    centre = (state.get_game().num_distinct_actions() - 1) / 2
    return 0.5 ** np.abs(np.array(legal) - centre)


@functools.lru_cache(maxsize=64)
def _solution(game: str) -> Solution | None:
    try:
        return solve(game)
    except ConfigError:
        return None
