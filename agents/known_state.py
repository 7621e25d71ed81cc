"""From what a request tells a seat to a state of the game that looks the same to it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from coevo.agents.game_tree import game_tree, turn_based_key
from coevo.envs.core.errors import ConfigError
from coevo.envs.games.states import load_game


def known_state(info: Mapping[str, Any]) -> pyspiel.State:
    """Find a state in which a seat knows what its info says.

    Where nothing is hidden that is the state itself, from its history. Elsewhere it is one of the
    states of the information state, found by walking the game tree once per process; the seat
    cannot tell them apart, so its tensors and its legal actions are the same in all of them.

    Args:
        info: of a request from an OpenSpiel environment.

    Raises:
        ConfigError: the environment is no OpenSpiel game, or something is hidden and the tree is
            too large to walk.
    """
    if "game" not in info:
        raise ConfigError(
            "the request is not from an OpenSpiel environment: its info names no game"
        )
    game = load_game(str(info["game"]))
    if "history" in info:
        return replayed(game, info["history"])
    key = turn_based_key(game, info["information_state"], info["player"])
    return _by_key(str(game))[key]


def check_knowable(game: str) -> None:
    """Raise ConfigError unless `known_state` finds the states of this game."""
    kind = load_game(game).get_type()
    if kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION:
        _by_key(game)


def replayed(game: pyspiel.Game, history: Sequence[int]) -> pyspiel.State:
    """Play a history, in which a joint move stands as one action per player.

    >>> game = pyspiel.load_game("matrix_rps")
    >>> replayed(game, [0, 1]).returns()
    [-1.0, 1.0]
    """
    state, at = game.new_initial_state(), 0
    while at < len(history):
        if state.is_simultaneous_node():
            state.apply_actions(list(history[at : at + game.num_players()]))
            at += game.num_players()
        else:
            state.apply_action(history[at])
            at += 1
    return state


@functools.lru_cache(maxsize=16)
def _by_key(game: str) -> dict[str, pyspiel.State]:
    try:
        return {d.key: d.state for d in game_tree(game).decisions}
    except ConfigError as error:
        raise ConfigError(
            f"what a seat knows in {game} cannot be turned back into numbers: {error}"
        ) from None
