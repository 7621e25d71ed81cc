import pytest

from coevo.agents import FirstLegalAgent, OracleAgent, RandomAgent
from coevo.benchmarks.exact import (
    against,
    best_response,
    exact_payoffs,
    expected_returns,
    exploitability,
    seat_policy,
    tree_of,
)
from coevo.envs.core.errors import ConfigError

KUHN, OPENSPIEL = "coevo/kuhn_poker-v0", "coevo/openspiel-v0"


def test_two_players_as_in_exploitability():
    found = exploitability(RandomAgent(), KUHN)
    tree = tree_of(KUHN)
    policies = [seat_policy(RandomAgent(), KUHN, None, p) for p in range(2)]
    values = [best_response(tree, policies, p).value for p in range(2)]
    assert values == pytest.approx(found.best_response_values)
    assert expected_returns(tree, policies) == pytest.approx(found.on_policy_values)
    low, high = against(KUHN, None, RandomAgent())
    assert low == pytest.approx(0)
    assert high == pytest.approx(11 / 24)
    low, _ = against(KUHN, None, OracleAgent())
    assert low == pytest.approx(sum(exact_payoffs(RandomAgent(), OracleAgent(), KUHN)) / 2)


def test_a_best_response_gets_what_it_says():
    options = {"game": "kuhn_poker(players=3)"}
    tree = tree_of(OPENSPIEL, options)
    policies = [seat_policy(FirstLegalAgent(), OPENSPIEL, options, p) for p in range(3)]
    for seat in range(3):
        best = best_response(tree, policies, seat)
        joint = [best.policy if p == seat else policies[p] for p in range(3)]
        assert expected_returns(tree, joint)[seat] == pytest.approx(best.value)
        assert best.value >= expected_returns(tree, policies)[seat] - 1e-12


def test_games_of_simultaneous_moves():
    options = {"game": "goofspiel(num_cards=3)"}
    low, high = against("coevo/goofspiel-v0", options, RandomAgent())
    assert (low, high) == pytest.approx((0, 2 / 3))


def test_large_games_are_refused():
    with pytest.raises(ConfigError, match="too many to walk"):
        against("coevo/goofspiel-v0", None, RandomAgent())
