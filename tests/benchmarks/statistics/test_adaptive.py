"""Response graphs from noisy games: sheet section 7, and OpenSpiel's bounds."""

from itertools import product

import numpy as np
import pytest

from coevo.benchmarks.statistics.adaptive import SCHEMES, sample_response_graph
from coevo.benchmarks.statistics.alpha_rank import alpha_rank_limit, one_population_per_role
from coevo.benchmarks.statistics.response_graph import Confidence, edges_of, uniform_games
from coevo.envs.core.errors import ConfigError, DataError, UnknownNameError

WINS = np.array([[0.5, 0.85, 0.95], [0.15, 0.5, 0.75], [0.05, 0.25, 0.5]])
JOINT = Confidence(delta=0.05, joint=True)


def bernoulli(rates, rng):
    def play(profile, games):
        won = (rng.random(games) < rates[profile]).astype(float)
        return np.column_stack([won, 1 - won])

    return play


def wrong_edges(graph, rates):
    tables = (rates, 1 - rates)
    found = graph.resolved + graph.unresolved
    return sum(tables[e.role][e.first] > tables[e.role][e.second] for e in found)


def run(seed, rates=WINS, **settings):
    rng = np.random.default_rng(seed)
    settings = {"budget": 12_000, "confidence": JOINT} | settings
    return sample_response_graph(bernoulli(rates, rng), rates.shape, rng, **settings)


# ---- Worked examples -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gap", "shape", "delta", "games"),
    [
        (0.1, (3, 3), 0.05, 1315.85),
        (0.2, (2, 2), 0.1, 253.76),
        (0.05, (10, 10), 0.05, 7189.76),
    ],
)
def test_uniform_games_of_the_sheet(gap, shape, delta, games):
    assert uniform_games(gap, shape, delta) == pytest.approx(games, abs=0.01)


@pytest.mark.parametrize(("runs", "batch"), [(4, 1), (100, 10)])
def test_adaptive_sampling_is_right_with_fewer_games(runs, batch):
    bound = 9 * uniform_games(0.1, (3, 3), 0.05)
    assert np.ceil(bound) == 11843
    graphs = [run(seed, batch=batch) for seed in range(runs)]
    assert all(len(g.resolved) == 18 and not g.unresolved for g in graphs)
    assert np.mean([wrong_edges(g, WINS) == 0 for g in graphs]) >= 0.95
    assert max(g.games for g in graphs) < bound
    # 5980 to 7934 in the sheet's five runs of OpenSpiel
    assert 6000 < np.mean([g.games for g in graphs]) < 8000


# ---- OpenSpiel -------------------------------------------------------------------------------


class _Game:
    n_players = 2
    strategy_spaces = (3, 3)


@pytest.mark.parametrize("bound", ["hoeffding", "clopper_pearson"])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("anytime", [False, True])
def test_bounds_as_in_open_spiel(bound, joint, anytime):
    pytest.importorskip("matplotlib", reason="OpenSpiel's module imports it")
    from open_spiel.python.algorithms.response_graph_ucb import ResponseGraphUCB

    method = {"hoeffding": "ucb-standard", "clopper_pearson": "clopper-pearson-ucb"}[bound]
    theirs = ResponseGraphUCB(
        _Game(),
        confidence_method=method,
        delta=0.05,
        per_payoff_confidence=not joint,
        time_dependent_delta=anytime,
    )
    theirs.initialise_mean_and_count()
    ours = Confidence(bound=bound, delta=0.05, joint=joint, anytime=anytime)
    for mean, games in ((0.5, 100), (0.0, 30), (1.0, 7), (0.25, 4)):
        theirs.mu[0][1, 2], theirs.count[0][1, 2] = mean, games
        expected = theirs._lcb((1, 2), 0), theirs._ucb((1, 2), 0)
        assert ours.bounds(mean, games, 18) == pytest.approx(expected, abs=1e-9)
    assert len(edges_of((3, 3))) == len(theirs.E) == 18


# ---- Behaviour -------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_finds_the_graph(scheme):
    graph = run(1, scheme=scheme, batch=10)
    assert not graph.unresolved
    assert wrong_edges(graph, WINS) == 0
    truth = alpha_rank_limit(one_population_per_role([WINS, 1 - WINS]))
    assert graph.alpha_rank() == pytest.approx(truth)
    assert graph.directions()[frozenset(((1, 0), (0, 0)))] == (0, 0)


def test_games_go_where_the_ranking_is_in_doubt():
    rates = np.array([[0.9, 0.52], [0.1, 0.48]])
    graph = run(2, rates, budget=3000, scheme="valence_weighted")
    assert graph.counts[:, 1].sum() > 2 * graph.counts[:, 0].sum()


def test_the_count_weighted_scheme_spreads_its_games():
    counts = run(3, WINS, budget=400, scheme="count_weighted").counts
    assert counts.max() - counts[counts > 40].min() < 60


def test_a_spent_budget_leaves_edges_flagged_and_directed_by_their_means():
    graph = run(0, budget=30)
    assert graph.games == 30
    assert graph.unresolved
    for edge in graph.unresolved:
        assert graph.means[edge.role][edge.first] <= graph.means[edge.role][edge.second]
    assert len(graph.resolved) + len(graph.unresolved) == 18


def test_equal_payoffs_resolve_with_slack_only():
    even = np.full((2, 2), 0.5)
    assert len(run(0, even, budget=2000, batch=20).unresolved) == 4
    loose = Confidence(delta=0.05, slack=0.1)
    assert run(0, even, budget=6000, batch=20, confidence=loose).games < 6000


def test_clopper_pearson_needs_fewer_games_for_lopsided_results():
    rates = np.array([[0.99, 0.9], [0.1, 0.01]])
    exact = Confidence(bound="clopper_pearson", delta=0.05)
    spent = [run(4, rates, confidence=c).games for c in (exact, Confidence(delta=0.05))]
    assert spent[0] < spent[1]


def test_batches_never_exceed_the_budget():
    assert run(0, budget=100, batch=64).games == 100


def test_the_same_seed_plays_the_same_games():
    assert run(7, budget=300).counts.tolist() == run(7, budget=300).counts.tolist()


def test_three_roles(rng):
    tables = rng.random((3, 2, 2, 2))

    def play(profile, games):
        return np.tile(tables[(slice(None), *profile)], (games, 1))

    graph = sample_response_graph(play, (2, 2, 2), rng, budget=50_000, batch=50)
    assert not graph.unresolved
    assert np.allclose(graph.means, tables)
    assert len(edges_of((2, 2, 2))) == 12


def test_edges_differ_in_one_role():
    for edge in edges_of((2, 3, 2)):
        differs = [a != b for a, b in zip(edge.first, edge.second, strict=True)]
        assert differs == [role == edge.role for role in range(3)]
    profiles = len(list(product(range(2), range(3), range(2))))
    assert len(set(edges_of((2, 3, 2)))) == profiles * (1 + 2 + 1) // 2


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"budget": 8}, ConfigError, "budget=8 is below one game for each of 9"),
        ({"scheme": "uniformly"}, UnknownNameError, "did you mean 'uniform'"),
        ({"rates": np.full((1, 1), 0.5)}, ConfigError, "no role has two strategies"),
    ],
)
def test_bad_settings_are_named(settings, error, said):
    with pytest.raises(error, match=said):
        run(0, **settings)


@pytest.mark.parametrize(
    ("payoffs", "error", "said"),
    [
        ([[2.0, -1.0]], DataError, r"scale them to \[0, 1\]"),
        ([[0.5]], DataError, r"expected payoffs of shape \(1, 2\)"),
        ([[np.nan, 0.5]], ConfigError, "NaN"),
    ],
)
def test_bad_payoffs_are_named(payoffs, error, said, rng):
    with pytest.raises(error, match=said):
        sample_response_graph(lambda *_: payoffs, (2, 2), rng, budget=10)


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"delta": 0.0}, ConfigError, "delta=0"),
        ({"slack": 1.0}, ConfigError, "slack=1"),
        ({"bound": "hoefding"}, UnknownNameError, "did you mean 'hoeffding'"),
    ],
)
def test_bad_confidence_is_named(settings, error, said):
    with pytest.raises(error, match=said):
        Confidence(**settings)
    with pytest.raises(ConfigError, match="gap=0"):
        uniform_games(0, (2, 2), 0.05)
