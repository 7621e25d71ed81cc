"""OpenSpiel games and states: loading, who moves, what a player knows, what happened, names.

Everything here is a pure function of its arguments.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyspiel

from coevo.envs.core.errors import ConfigError, unknown

CHANCE = -1
"""OpenSpiel's player id of chance."""

PYTHON = "python_"
"""Beginning of the names of games that OpenSpiel has in Python."""

_BREAKS = re.compile(r"[\[\]{};:,\"'\s\x00-\x1f\x7f]+")
_SEAT = re.compile(r"^\[P\d+\]\s*")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """OpenSpiel writes an error to the process's standard error itself, before it raises it."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@functools.lru_cache(maxsize=64)
def load_game(game: str) -> pyspiel.Game:
    """Load an OpenSpiel game from its string, e.g. `kuhn_poker` or `goofspiel(num_cards=4)`.

    Raises:
        UnknownNameError: no such game; the nearest names are listed.
        ConfigError: a parameter is wrong, or the game cannot be played here: mean-field games,
            games without numbered actions, and games that sample chance by a generator of their
            own, which two copies of a state would share.
    """
    name, _ = game_parameters(game)
    if name.startswith(PYTHON) and name not in pyspiel.registered_names():
        importlib.import_module("open_spiel.python.games")  # registers those written in Python
    if name not in pyspiel.registered_names():
        raise unknown("OpenSpiel game", name, pyspiel.registered_names())
    try:
        with _quiet():
            loaded = pyspiel.load_game(game)
            loaded.new_initial_state()  # some parameters are refused only here
    except Exception as error:
        raise ConfigError(f"OpenSpiel refuses {game!r}: {error}") from None
    kind = loaded.get_type()
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise ConfigError(
            f"{name} is a mean-field game; sequential and simultaneous games are offered"
        )
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise ConfigError(
            f"{name} draws chance from a hidden generator of its own; games with listed chance "
            "outcomes are offered (bargaining instead of negotiation, bridge, euchre)"
        )
    _check_actions(name, loaded)
    return loaded


def game_parameters(game: str) -> tuple[str, dict[str, Any]]:
    """Split a game string into the name and the parameters that it gives.

    >>> game_parameters("connect_four(rows=4)")
    ('connect_four', {'rows': 4})
    """
    try:
        parameters = dict(pyspiel.game_parameters_from_string(game))
    except Exception as error:
        raise ConfigError(f"OpenSpiel cannot read game={game!r}: {error}") from None
    return str(parameters.pop("name", "")), parameters


def named(values: Sequence[Any]) -> str:
    """Name the values that a setting may have.

    >>> named(range(2, 14)), named(["random", "descending"])
    ('2 to 13', 'random or descending')
    """
    if isinstance(values, range):
        return f"{values[0]} to {values[-1]}"
    return " or ".join(map(str, values))


def _check_actions(name: str, game: pyspiel.Game) -> None:
    state = game.new_initial_state()
    try:
        movers(state) if state.is_simultaneous_node() else state.legal_actions()
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise ConfigError(f"{name} has no numbered actions: {reason}") from None


def movers(state: pyspiel.State) -> list[int]:
    """Return the players who decide at this state; none at a terminal one."""
    if state.is_terminal():
        return []
    if state.is_simultaneous_node():
        return [p for p in range(state.num_players()) if state.legal_actions(p)]
    return [state.current_player()]


def view(state: pyspiel.State, player: int, kind: pyspiel.GameType | None = None) -> str:
    """Return OpenSpiel's own text of what a player knows: information state, else observation."""
    kind = kind or state.get_game().get_type()
    if kind.provides_information_state_string:
        return str(state.information_state_string(player))
    if kind.provides_observation_string:
        return str(state.observation_string(player))
    return str(state)


def is_open(game: pyspiel.Game) -> bool:
    """Return whether nothing but a simultaneous move is ever hidden from a player."""
    return bool(game.get_type().information != pyspiel.GameType.Information.IMPERFECT_INFORMATION)


def picture(state: pyspiel.State, player: int) -> str:
    """Return the drawn state where everything is open, else what the player knows."""
    text = str(state) if is_open(state.get_game()) else view(state, player)
    return _COLOUR.sub("", text).strip("\n")


def resampled(state: pyspiel.State, player: int, draw: Callable[[], float]) -> pyspiel.State | None:
    """Return a random state that a player cannot tell from this one.

    None where nothing is hidden, and in games (Tiny Hanabi) for which OpenSpiel cannot.
    """
    if is_open(state.get_game()):
        return None
    try:
        return state.resample_from_infostate(player, draw)
    except pyspiel.SpielError:
        return None


def decisions(
    state: pyspiel.State,
) -> Iterator[tuple[pyspiel.State, dict[int, int]]]:
    """Return (state, player -> action) for every step on the way to `state`.

    Chance appears as player -1. The state is advanced in place afterwards: clone it to keep it.
    """
    game = state.get_game()
    past, history, at = game.new_initial_state(), state.full_history(), 0
    # Asked once, since some games look for legal moves to answer what kind of node they are at.
    in_turn = game.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
    while at < len(history):
        if not in_turn and past.is_simultaneous_node():
            joint = [h.action for h in history[at : at + state.num_players()]]
            yield past, {p: joint[p] for p in movers(past)}
            past.apply_actions(joint)
            at += len(joint)
            continue
        yield past, {int(history[at].player): history[at].action}
        past.apply_action(history[at].action)
        at += 1


def own_decisions(state: pyspiel.State, player: int) -> Iterator[tuple[pyspiel.State, int]]:
    """Return (state, action) for each earlier decision of a player on the way to `state`."""
    for past, actions in decisions(state):
        if player in actions:
            yield past.clone(), actions[player]


@functools.lru_cache(maxsize=4096)
def clean_name(name: str, limit: int = 80) -> str:
    """Turn OpenSpiel's name of an action into one that fits between square brackets.

    >>> clean_name("pile:1, take:2;")
    'pile 1 take 2'
    >>> clean_name("[P0]Bid: 3"), clean_name("(Play 0)")
    ('Bid 3', 'Play 0')
    """
    plain = " ".join(_BREAKS.sub(" ", _SEAT.sub("", name))[:limit].split())
    inner = plain[1:-1]
    return inner if plain == f"({inner})" and not set("()") & set(inner) else plain


def distinct(names: list[str]) -> list[str]:
    """Number the names that occur again, in order; an empty name becomes `move`.

    >>> distinct(["left", "left", "", "right"])
    ['left', 'left (2)', 'move', 'right']
    """
    if len(set(names)) == len(names) and "" not in names:
        return names
    given: dict[str, None] = {}
    for name in names:
        unique, number = name or "move", 1
        while unique in given:
            number += 1
            unique = f"{name or 'move'} ({number})"
        given[unique] = None
    return list(given)


def shorten(text: str, limit: int) -> str:
    """Cut the middle out of a text that is longer than `limit` characters.

    >>> shorten("abcdefghijklmnop", 9)
    'abc ... p'
    """
    if len(text) <= limit:
        return text
    rest = limit - 5
    tail = rest // 3
    return f"{text[: rest - tail]} ... {text[len(text) - tail :]}"


def listing(names: Sequence[str], most: int, joint: str = ", ") -> str:
    """Join names; beyond `most` give the number of those left out.

    >>> listing(["a", "b", "c", "d"], most=2)
    'a, b and 2 more'
    """
    if len(names) <= most:
        return joint.join(names)
    return f"{joint.join(names[:most])} and {len(names) - most} more"
