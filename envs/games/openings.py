"""Steps of OpenSpiel states, and openings made of random ones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate

import numpy as np
import pyspiel

from coevo.envs.core.errors import ConfigError
from coevo.envs.games.states import movers

OPENINGS_TRIED = 100
"""Attempts at an opening of full length before it is called too long."""


def make_moves(state: pyspiel.State, actions: Mapping[int, int]) -> None:
    """Make the move of the player who decides, or those of all who decide at once."""
    if state.is_simultaneous_node():
        # A player without a choice still needs an entry; OpenSpiel ignores its value.
        state.apply_actions([actions.get(p, 0) for p in range(state.num_players())])
    else:
        state.apply_action(next(iter(actions.values())))


def drawn(state: pyspiel.State, rng: np.random.Generator) -> int:
    """Return a random outcome of chance: `rng.choice(outcomes, p=chances)` of NumPy.

    The same floating-point steps are written out, since for the few outcomes of a game NumPy's call
    takes twenty times as long.
    """
    outcomes, chances = zip(*state.chance_outcomes(), strict=True)
    *sums, whole = accumulate(chances)
    return int(outcomes[bisect_right([part / whole for part in sums], rng.random())])


def roll(state: pyspiel.State, rng: np.random.Generator) -> None:
    """Let chance move until a player moves."""
    while state.is_chance_node():
        state.apply_action(drawn(state, rng))


def random_moves(start: pyspiel.State, moves: int, rng: np.random.Generator) -> pyspiel.State:
    """Make random legal moves from a state on, fewer where the game ends before."""
    state = start.clone()
    for _ in range(moves):
        if state.is_terminal():
            break
        make_moves(state, {p: int(rng.choice(state.legal_actions(p))) for p in movers(state)})
        roll(state, rng)
    return state


def opening_moves(moves: int, game: pyspiel.Game) -> int:
    """Check a length of openings: at most half of the longest game, and random play lasts so long.

    Random play of some games ends long before the longest game does: openings that never leave a
    game undecided would be drawn for ever.
    """
    most = game.max_game_length() // 2
    if moves > most:
        raise ConfigError(f"openings={moves!r}: a whole number from 0 to {most} is expected here")
    rng = np.random.default_rng(0)
    for _ in range(OPENINGS_TRIED if moves else 0):
        start = game.new_initial_state()
        roll(start, rng)
        if not random_moves(start, moves, rng).is_terminal():
            return moves
    if moves:
        raise ConfigError(
            f"openings={moves}: random play of {game} ended sooner in {OPENINGS_TRIED} of "
            f"{OPENINGS_TRIED} attempts; give fewer moves"
        )
    return moves
