"""What a seat knows as a row of numbers, for policies that read no text.

OpenSpiel's information-state tensor where the game has one, else its observation tensor, else the
text that the seat sees, hashed; after it one number per seat, 1 for who looks. Not every tensor
says whose it is (tic-tac-toe's is the bare board), and one policy has to play all seats.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pyspiel

from coevo.envs.core.hashing import HASHED, hashed
from coevo.envs.games.states import view


class Encoding(StrEnum):
    """Where the numbers come from."""

    INFORMATION_STATE = "information_state"
    """OpenSpiel's information-state tensor: everything the seat has seen so far."""
    OBSERVATION = "observation"
    """OpenSpiel's observation tensor: what the seat sees now."""
    TEXT = "text"
    """The seat's own text, every word with its place, hashed. A history of actions would tell
    hidden cards, so it is the view of the seat that is hashed."""


def encoding(game: pyspiel.Game) -> Encoding:
    """Choose the encoding of a game.

    >>> [str(encoding(pyspiel.load_game(g))) for g in ("leduc_poker", "tic_tac_toe", "cribbage")]
    ['information_state', 'observation', 'text']
    """
    kind = game.get_type()
    if kind.provides_information_state_tensor:
        return Encoding.INFORMATION_STATE
    return Encoding.OBSERVATION if kind.provides_observation_tensor else Encoding.TEXT


def size(game: pyspiel.Game) -> int:
    """Return the length of a row.

    >>> size(pyspiel.load_game("tic_tac_toe"))  # 3 x 3 x 3 and two seats
    29
    """
    how, seats = encoding(game), game.num_players()
    if how is Encoding.INFORMATION_STATE:
        return int(game.information_state_tensor_size()) + seats
    return (int(game.observation_tensor_size()) if how is Encoding.OBSERVATION else HASHED) + seats


def encode(state: pyspiel.State, player: int) -> np.ndarray:
    """Return what a player knows at a state that is not terminal, as a new float32 row.

    >>> encode(pyspiel.load_game("tic_tac_toe").new_initial_state(), 0)[-2:].tolist()
    [1.0, 0.0]
    """
    game = state.get_game()
    how = encoding(game)
    if how is Encoding.INFORMATION_STATE:
        known = state.information_state_tensor(player)
    elif how is Encoding.OBSERVATION:
        known = state.observation_tensor(player)
    else:
        known = hashed(view(state, player))
    return np.concatenate([known, np.eye(game.num_players())[player]], dtype=np.float32)
