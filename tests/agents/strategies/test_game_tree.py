import pickle

import pyspiel
import pytest

from coevo.agents.strategies import game_tree as tree_module
from coevo.agents.strategies.game_tree import game_tree
from coevo.envs.core.errors import ConfigError


@pytest.mark.parametrize(
    ("game", "states"), [("kuhn_poker", 12), ("leduc_poker", 936), ("tiny_hanabi", 8)]
)
def test_information_states_are_as_many_as_published(game, states):
    assert len(game_tree(game).decisions) == states


@pytest.mark.parametrize(
    "game",
    ["kuhn_poker", "matrix_rps", "goofspiel(num_cards=3)", "goofspiel(imp_info=true,num_cards=3)"],
)
def test_keys_are_those_of_openspiels_solvers(game):
    tree = game_tree(game)
    solver = pyspiel.CFRSolver(tree.game)
    solver.evaluate_and_update_policy()
    table = solver.tabular_average_policy().policy_table()
    assert {d.key for d in tree.decisions} == table.keys()
    for d in tree.decisions:
        assert d.state.legal_actions(d.player) == sorted(a for a, _ in table[d.key])


def test_common_payoffs_are_noticed():
    assert game_tree("tiny_hanabi").common_payoff
    assert game_tree("lewis_signaling").common_payoff
    assert not game_tree("kuhn_poker").common_payoff


def test_a_large_tree_is_refused_and_the_error_survives_pickling():
    with pytest.raises(ConfigError, match="too many to walk") as caught:
        game_tree("tic_tac_toe")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_game_without_information_states_is_refused():
    with pytest.raises(ConfigError, match="no information states"):
        game_tree("pig")


def test_states_of_a_game_that_is_too_large_are_counted_and_not_kept(monkeypatch):
    monkeypatch.setattr(tree_module, "HISTORIES", 3000)
    monkeypatch.setattr(tree_module, "_deciders", None)  # nothing may be kept of it
    with pytest.raises(ConfigError, match="over 3000 nodes"):
        game_tree("chess(chess960=False)")


def test_a_deep_game_is_refused_from_its_first_levels(monkeypatch):
    """A state holds all of its positions: those of a long game fill the memory."""
    deepest, whole = [0], tree_module._children

    def counted(state):
        deepest[0] = max(deepest[0], len(state.full_history()))
        return whole(state)

    monkeypatch.setattr(tree_module, "HISTORIES", 5000)
    monkeypatch.setattr(tree_module, "_children", counted)
    with pytest.raises(ConfigError, match="too many to walk"):
        game_tree("connect_four(egocentric_obs_tensor=False)")
    assert deepest[0] <= tree_module.SHALLOW
