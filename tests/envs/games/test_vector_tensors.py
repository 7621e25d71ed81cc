"""Numbers of a state: OpenSpiel's own where it has some, else the hashed view, then the seat."""

import numpy as np
import pyspiel
import pytest

from coevo.envs.games.tensors import HASHED, Encoding, encode, encoding, hashed, size


def dealt(game, *actions):
    state = pyspiel.load_game(game).new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


@pytest.mark.parametrize(
    ("game", "how", "length"),
    [
        ("kuhn_poker", Encoding.INFORMATION_STATE, 11 + 2),
        ("leduc_poker", Encoding.INFORMATION_STATE, 30 + 2),
        ("tiny_hanabi", Encoding.INFORMATION_STATE, 8 + 2),
        ("matrix_rps", Encoding.INFORMATION_STATE, 1 + 2),
        ("tic_tac_toe", Encoding.OBSERVATION, 27 + 2),
        ("connect_four", Encoding.OBSERVATION, 126 + 2),
        ("catch", Encoding.OBSERVATION, 50 + 1),
        ("morpion_solitaire", Encoding.TEXT, HASHED + 1),
    ],
)
def test_the_encoding_follows_what_the_game_provides(game, how, length):
    loaded = pyspiel.load_game(game)
    assert (encoding(loaded), size(loaded)) == (how, length)
    state = loaded.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    row = encode(state, 0)
    assert row.shape == (length,)
    assert row.dtype == np.float32
    assert row.any()


def test_the_row_is_openspiels_with_the_seat_behind():
    state = dealt("kuhn_poker", 2, 0, 1)
    expected = [*state.information_state_tensor(1), 0.0, 1.0]
    assert encode(state, 1).tolist() == expected


def test_the_row_is_the_callers_own():
    state = dealt("tic_tac_toe", 4)
    encode(state, 1)[:] = 7
    assert encode(state, 1).max() == 1


def test_cards_of_others_do_not_show():
    assert (encode(dealt("kuhn_poker", 1, 0), 0) == encode(dealt("kuhn_poker", 1, 2), 0)).all()
    assert (encode(dealt("kuhn_poker", 1, 0), 0) != encode(dealt("kuhn_poker", 2, 0), 0)).any()


def test_hashing_is_fixed_and_tells_places_apart():
    """Saved policies depend on it: a change needs a new version of what `sb3.json` says."""
    row = hashed("X . O")
    assert np.flatnonzero(row).tolist() == [74, 129, 158]
    assert row[[74, 129, 158]].tolist() == [-1, 1, 1]
    assert (hashed("a b") != hashed("b a")).any()
    assert (hashed("a  b\n") == hashed("a b")).all()
    assert not hashed("").any()
