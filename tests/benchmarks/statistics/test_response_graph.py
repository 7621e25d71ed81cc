"""Response graphs and their bounds, as OpenSpiel has them."""

from itertools import product

import pytest
from open_spiel.python.algorithms.response_graph_ucb import ResponseGraphUCB

from coevo.benchmarks.statistics.response_graph import edges_of, hoeffding


class _Game:
    n_players = 2
    strategy_spaces = (3, 3)


def test_bounds_as_in_open_spiel():
    theirs = ResponseGraphUCB(
        _Game(),
        confidence_method="ucb-standard",
        delta=0.05,
        per_payoff_confidence=False,
        time_dependent_delta=True,
    )
    theirs.initialise_mean_and_count()
    for mean, games in ((0.5, 100), (0.0, 30), (1.0, 7), (0.25, 4)):
        theirs.mu[0][1, 2], theirs.count[0][1, 2] = mean, games
        expected = theirs._lcb((1, 2), 0), theirs._ucb((1, 2), 0)
        assert hoeffding(mean, games, 18, 0.05) == pytest.approx(expected, abs=1e-9)
    assert len(edges_of((3, 3))) == len(theirs.E) == 18


def test_edges_differ_in_one_role():
    for edge in edges_of((2, 3, 2)):
        differs = [a != b for a, b in zip(edge.first, edge.second, strict=True)]
        assert differs == [role == edge.role for role in range(3)]
    profiles = len(list(product(range(2), range(3), range(2))))
    assert len(set(edges_of((2, 3, 2)))) == profiles * (1 + 2 + 1) // 2
    assert len(edges_of((2, 2, 2))) == 12
