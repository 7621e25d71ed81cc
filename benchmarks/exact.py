"""Exact returns of scripted play and of best responses in small OpenSpiel games.

For any number of players; what the references of scenarios and axes are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from coevo.agents.agent import Agent
from coevo.agents.scripted import RandomAgent
from coevo.agents.strategies.game_tree import GameTree, Policy, best_response, game_tree
from coevo.benchmarks.exploitability import requests
from coevo.benchmarks.statistics.normalise import References
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError
from coevo.envs.games.openspiel import OpenSpielTask


def tree_of(env_id: str, env_options: Mapping[str, Any] | None = None) -> GameTree:
    """Walk the game of an environment.

    Raises:
        ConfigError: it is no OpenSpiel game, or too large to walk.
    """
    return _env(env_id, env_options)[1]


def seat_policy(
    agent: Agent, env_id: str, env_options: Mapping[str, Any] | None, player: int
) -> Policy:
    """Ask an agent for its probabilities at every information state of one seat."""
    env, tree = _env(env_id, env_options)
    own = [d for d in tree.decisions if d.player == player]
    odds = agent.probabilities(requests(env, own))
    return {
        d.key: list(zip(d.state.legal_actions(player), map(float, p), strict=True))
        for d, p in zip(own, odds, strict=True)
    }


def expected_returns(tree: GameTree, policies: Sequence[Policy]) -> list[float]:
    """Return every seat's expected payoff when each plays its policy.

    Args:
        tree: the game.
        policies: one per seat, defined at all information states of its seat.
    """
    tables = [pyspiel.TabularPolicy(p) for p in policies]
    root = tree.game.new_initial_state()
    return [float(r) for r in pyspiel.expected_returns(root, tables, -1, True)]


def against(env_id: str, env_options: Mapping[str, Any] | None, other: Agent) -> References:
    """Return what random play and a best response get against one agent in all other seats.

    Both are averaged over the seat that is measured, as head-to-head scores are.

    Raises:
        ConfigError: the game is too large, or the other gives no probabilities.
    """
    tree, uniform = tree_of(env_id, env_options), RandomAgent()
    seats = range(tree.game.num_players())
    others = [seat_policy(other, env_id, env_options, p) for p in seats]
    low = high = 0.0
    for seat in seats:
        own = seat_policy(uniform, env_id, env_options, seat)
        mixed = [own if p == seat else others[p] for p in seats]
        low += expected_returns(tree, mixed)[seat]
        high += best_response(tree, mixed, seat).value
    return References(low / len(seats), high / len(seats))


def _env(env_id: str, env_options: Mapping[str, Any] | None) -> tuple[TextEnv, GameTree]:
    env = make(env_id, **(env_options or {}))
    if not isinstance(env.task, OpenSpielTask):
        raise ConfigError(f"{env_id} is no OpenSpiel game: nothing there is known exactly")
    return env, game_tree(str(env.task.game))
