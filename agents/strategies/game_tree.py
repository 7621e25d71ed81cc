"""Walks of OpenSpiel game trees, for exact solutions, exact evaluation, and states of a seat."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyspiel

from coevo.envs.core.errors import ConfigError
from coevo.envs.games.states import load_game

HISTORIES = 400_000
"""Largest game tree that is walked, in nodes; about a second."""
SHALLOW = 8
"""Depth to which a tree is counted before all of it: most games that are too large show it there,
and no state lies deep, where those of chess hold thousands of positions."""

Policy = dict[str, list[tuple[int, float]]]
"""OpenSpiel information state -> (action, probability) of all its legal actions."""


@dataclass(frozen=True)
class Decision:
    """One information state of one player."""

    key: str
    """Information-state string in the turn-based form of the game."""
    player: int
    state: pyspiel.State
    """One of its states, in the form that the environment plays."""


@dataclass(frozen=True)
class GameTree:
    """What one walk through all histories finds."""

    game: pyspiel.Game
    """The game, with simultaneous moves made one after the other without being seen."""
    decisions: tuple[Decision, ...]
    """Every information state once, in the order of first visit."""
    histories: int
    """Number of nodes, terminal ones and chance included."""
    common_payoff: bool
    """Whether all players get the same payoff at every end."""


class Best(NamedTuple):
    """A best response of one seat."""

    value: float
    policy: Policy
    """What it does in this seat; states of other seats are missing."""


def game_tree(game: str) -> GameTree:
    """Walk all histories of a game, once per process.

    Raises:
        ConfigError: the tree has more than `HISTORIES` nodes, or no information states.
    """
    walked = _walk(game)
    if isinstance(walked, str):
        raise ConfigError(walked)
    return walked


@functools.lru_cache(maxsize=16)
def _walk(game: str) -> GameTree | str:
    """Walk the tree, or say why not: a walk that ends at "too large" is as long as any."""
    loaded = load_game(game)
    if not loaded.get_type().provides_information_state_string:
        return f"{game}: OpenSpiel gives no information states for this game"
    for depth in (SHALLOW, math.inf):  # counted first: the states would fill the memory
        count = 1
        for state in _states(loaded, depth):
            count += _width(state)
            if count > HISTORIES:
                return f"{game}: the tree has over {HISTORIES} nodes, too many to walk"
    found: dict[str, Decision] = {}
    common = True
    for state in _states(loaded):
        if state.is_terminal():
            common = common and len(set(state.returns())) == 1
            continue
        for decision in _deciders(loaded, state):
            found.setdefault(decision.key, decision)
    return GameTree(turn_based(loaded), tuple(found.values()), count, common)


def _states(game: pyspiel.Game, depth: float = math.inf) -> Iterator[pyspiel.State]:
    """Walk the states of a game down to a depth, depth first; only those on the way are held."""
    way = [iter([game.new_initial_state()])]
    while way:
        state = next(way[-1], None)
        if state is None:
            way.pop()
            continue
        yield state
        if len(way) <= depth and not state.is_terminal():
            way.append(_children(state))


def best_response(tree: GameTree, policies: Sequence[Policy], player: int) -> Best:
    """Return the best that one seat can do against the policies of the others.

    There is one policy per seat; the player's own is not looked at, but has to be there.
    """
    joint = {key: odds for policy in policies for key, odds in policy.items()}
    found = pyspiel.TabularBestResponse(tree.game, player, joint)
    value = float(found.value_from_state(tree.game.new_initial_state()))
    chosen = found.get_best_response_actions()
    policy: Policy = {}
    for d in (d for d in tree.decisions if d.player == player):
        legal = d.state.legal_actions(player)
        pick = chosen.get(d.key, legal[0])
        policy[d.key] = [(a, float(a == pick)) for a in legal]
    return Best(value, policy)


def turn_based(game: pyspiel.Game) -> pyspiel.Game:
    """Return the game itself if its moves are sequential, else OpenSpiel's sequential form."""
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(game)
    return game


def turn_based_key(game: pyspiel.Game, information_state: str, player: int) -> str:
    """Return the key in the turn-based form for what a player sees in the original form."""
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return f"Current player: {player}\n{information_state}"
    return information_state


def _deciders(game: pyspiel.Game, state: pyspiel.State) -> Iterator[Decision]:
    if state.is_chance_node():
        return
    simultaneous = state.is_simultaneous_node()
    for player in range(state.num_players()) if simultaneous else (state.current_player(),):
        key = turn_based_key(game, state.information_state_string(player), player)
        yield Decision(key, player, state)


def _width(state: pyspiel.State) -> int:
    """Return the number of children of a state; 0 at an end."""
    if not state.is_simultaneous_node():
        return len(state.legal_actions())
    return math.prod(len(state.legal_actions(p)) for p in range(state.num_players()))


def _children(state: pyspiel.State) -> Iterator[pyspiel.State]:
    if not state.is_simultaneous_node():
        yield from map(state.child, state.legal_actions())
        return
    legal = [state.legal_actions(p) for p in range(state.num_players())]
    for joint in reversed(list(itertools.product(*legal))):
        child = state.clone()
        child.apply_actions(list(joint))
        yield child


# ---- States that a seat cannot tell apart --------------------------------------------------------


def known_state(info: Mapping[str, Any]) -> pyspiel.State:
    """Find a state in which a seat knows what its info says.

    Where nothing is hidden that is the state itself, from its history. Elsewhere it is one of the
    states of the information state, found by walking the game tree once per process; the seat
    cannot tell them apart, so its tensors and its legal actions are the same in all of them.

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
