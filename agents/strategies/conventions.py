"""Conventions: the deterministic ways in which two partners with a common payoff may play."""

from __future__ import annotations

import functools

import numpy as np

from coevo.agents.agent import Request
from coevo.agents.scripted import MoveAgent
from coevo.agents.strategies.game_tree import game_tree
from coevo.agents.strategies.oracle import Tabular, game_of, pairs
from coevo.envs.core.errors import ConfigError
from coevo.envs.games.openspiel import load_game


class ConventionAgent(MoveAgent):
    """Plays its half of one deterministic pair of policies.

    Player 0 may do anything; player 1 responds best to it. The pairs are ranked by their
    payoff, so rank 1 is optimal, and the others are what a partner trained elsewhere may do.
    """

    def __init__(self, rank: int) -> None:
        if rank < 1:
            raise ConfigError(f"convention:{rank}: ranks start at 1")
        self.rank = rank
        self.name = f"convention:{rank}"

    def odds(self, request: Request) -> np.ndarray:
        known = conventions(game_of(request.info))
        if self.rank > len(known):
            raise ConfigError(f"{self.name}: there are {len(known)} conventions in this game")
        return known[self.rank - 1][1].odds(request.info)


@functools.lru_cache(maxsize=8)
def conventions(game: str) -> tuple[tuple[float, Tabular], ...]:
    """Return every convention of a game with the payoff of both, best first.

    Raises:
        ConfigError: the game is not a small one of two partners with one payoff.
    """
    tree, loaded = game_tree(game), load_game(game)
    if not tree.common_payoff or loaded.num_players() != 2:
        raise ConfigError(f"{game} is no game of two partners with one payoff: no conventions")
    found = [(value, Tabular(loaded, policy)) for value, policy in pairs(tree)]
    return tuple(sorted(found, key=lambda pair: -pair[0]))
