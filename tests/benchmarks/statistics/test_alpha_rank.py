"""alpha-Rank: sheet section 6, and OpenSpiel where it does not give up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from open_spiel.python.egt import alpharank

from coevo.benchmarks.statistics.alpha_rank import (
    alpha_rank,
    alpha_rank_limit,
    one_population,
    one_population_per_role,
    shares_by_role,
    sweep,
)
from coevo.benchmarks.statistics.cross_play import from_matrix
from coevo.benchmarks.statistics.stationary import stationary
from coevo.envs.core.errors import ConfigError, UnknownNameError

RPS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
T = np.array([[0.5, 0.8, 0.9], [0.2, 0.5, 0.7], [0.1, 0.3, 0.5]])
WEAK = np.array([[0, -0.1, 1], [0.1, 0, -1], [-1, 1, 0]])
PENNIES = [np.array([[1, -1], [-1, 1]]), np.array([[-1, 1], [1, -1]])]
DILEMMA = [np.array([[3, 0], [5, 1]]), np.array([[3, 5], [0, 1]])]
BATTLE = [np.array([[3, 0], [0, 2]]), np.array([[2, 0], [0, 3]])]


def open_spiel(tables, **settings):
    return alpharank.compute([np.asarray(t, dtype=float) for t in tables], **settings)[2]


# ---- Worked examples -------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1, 10, 1e4])
def test_a_pure_cycle_has_no_winner(alpha):
    assert alpha_rank(one_population(RPS), alpha) == pytest.approx([1 / 3] * 3, abs=1e-9)
    assert alpha_rank_limit(one_population(RPS)) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    ("payoffs", "alpha", "expected"),
    [
        (T, 0.1, [0.931193, 0.054302, 0.014506]),
        (T, 1, [1, 0, 0]),
        (WEAK, 0.1, [0.754934, 0.122516, 0.122551]),
        (WEAK, 1, [0.704575, 0.147713, 0.147713]),
        (WEAK, 10, [0.366390, 0.316805, 0.316805]),
    ],
)
def test_one_population_of_the_sheet(payoffs, alpha, expected):
    assert alpha_rank(one_population(payoffs), alpha) == pytest.approx(expected, abs=1e-6)


def test_infinite_alpha_of_the_sheet():
    limit = alpha_rank_limit(one_population(T), 0.01)
    assert limit == pytest.approx([0.980198, 0.014777, 0.005025], abs=1e-6)
    assert alpha_rank_limit(one_population(WEAK)) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    ("tables", "alpha", "expected"),
    [
        (PENNIES, 1, [0.25] * 4),
        (DILEMMA, 0.1, [0, 0.007337, 0.007337, 0.985325]),
        (BATTLE, 0.01, [0.383842, 0.144060, 0.088255, 0.383842]),
        (BATTLE, 0.1, [0.499986, 0.000028, 0, 0.499986]),
    ],
)
def test_two_roles_of_the_sheet(tables, alpha, expected):
    found = alpha_rank(one_population_per_role(tables), alpha)
    assert found == pytest.approx(expected, abs=1e-6)


def test_copies_of_an_agent_distort_the_ranks():
    copied = [[0, 0, -1, 1], [0, 0, -1, 1], [1, 1, 0, -1], [-1, -1, 1, 0]]
    found = alpha_rank(one_population(copied), 1)
    assert found == pytest.approx([0.2, 0.2, 0.4, 0.2], abs=1e-6)


# ---- OpenSpiel -------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("size", [2, 5])
def test_one_population_as_in_open_spiel(size, alpha):
    payoffs = np.random.default_rng(size).random((size, size))
    for m in (5, 50):
        found = alpha_rank(one_population(payoffs, population=m), alpha)
        assert found == pytest.approx(open_spiel([payoffs], m=m, alpha=alpha), abs=1e-6)
    limit = alpha_rank_limit(one_population(payoffs), 0.05)
    expected = open_spiel([payoffs], use_inf_alpha=True, inf_alpha_eps=0.05)
    assert limit == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (2, 2, 3)])
def test_roles_as_in_open_spiel(shape):
    rng = np.random.default_rng(len(shape))
    tables = [rng.random(shape) for _ in shape]
    game = one_population_per_role(tables)
    found = alpha_rank(game, 0.2)
    assert found == pytest.approx(open_spiel(tables, m=50, alpha=0.2), abs=1e-6)
    limit = open_spiel(tables, use_inf_alpha=True, inf_alpha_eps=0.01)
    assert alpha_rank_limit(game) == pytest.approx(limit, abs=1e-6)


def test_global_selection_as_in_open_spiel():
    win_rate = np.array([[0.5, 0.7, 0.2], [0.3, 0.5, 0.6], [0.8, 0.4, 0.5]])
    game = one_population(win_rate, selection="global", population=20)
    expected = open_spiel([win_rate], m=20, alpha=0.3, use_local_selection_model=False)
    assert alpha_rank(game, 0.3) == pytest.approx(expected, abs=1e-6)


def test_ties_as_in_open_spiel():
    payoffs = np.array([[0, 1, 1], [1, 0, 2], [1, 1, 0]])
    expected = open_spiel([payoffs], use_inf_alpha=True, inf_alpha_eps=0.1)
    assert alpha_rank_limit(one_population(payoffs), 0.1) == pytest.approx(expected, abs=1e-6)
    found = alpha_rank(one_population(payoffs), 0.1)
    assert found == pytest.approx(open_spiel([payoffs], m=50, alpha=0.1), abs=1e-6)


def test_no_alpha_is_too_large():
    with pytest.raises(ValueError, match="found 2"):
        open_spiel(BATTLE, m=50, alpha=1)
    game = one_population_per_role(BATTLE)
    for alpha in (1, 100, 1e6):
        assert alpha_rank(game, alpha) == pytest.approx([0.5, 0, 0, 0.5], abs=1e-12)


# ---- Sweep and laws --------------------------------------------------------------------------


def test_the_sweep_follows_open_spiel_and_settles():
    rng = np.random.default_rng(4)
    payoffs = rng.random((5, 5))
    swept = sweep(one_population(payoffs))
    assert swept.settled
    assert (swept.alphas[1:] == 2 * swept.alphas[:-1]).all()
    for alpha, shares in zip(swept.alphas[:12], swept.shares, strict=False):
        expected = open_spiel([payoffs / np.ptp(payoffs)], m=50, alpha=alpha)
        assert shares == pytest.approx(expected, abs=1e-6)


def test_who_beats_everybody_ends_with_everything():
    payoffs = np.random.default_rng(5).random((5, 5))
    payoffs[2, :], payoffs[:, 2] = 1.0, 0.0
    assert sweep(one_population(payoffs)).final[2] > 0.99


def test_a_cycle_never_yields_a_single_winner():
    assert sweep(one_population(RPS)).shares.max() < 0.34
    # with unequal edges the ranks rest at other values before the weakest edge is felt
    swept = sweep(one_population(WEAK * [[1, 1e-8, 1], [1e-8, 1, 1], [1, 1, 1]]))
    assert swept.shares.max() > 0.7
    assert swept.settled
    assert swept.final == pytest.approx([1 / 3] * 3, abs=1e-3)


def test_equal_agents_settle_at_once():
    swept = sweep(one_population(np.ones((3, 3))))
    assert swept.settled
    assert swept.final == pytest.approx([1 / 3] * 3)
    assert not sweep(one_population(T), most=2).settled


@given(st.integers(0, 50), st.floats(-100, 100))
def test_a_constant_added_to_all_payoffs_changes_nothing(seed, constant):
    payoffs = np.random.default_rng(seed).random((4, 4))
    moved = alpha_rank(one_population(payoffs + constant), 1)
    assert moved == pytest.approx(alpha_rank(one_population(payoffs), 1), rel=1e-6, abs=1e-9)


def test_replicates_are_ranked_at_once(rng):
    payoffs = rng.random((6, 4, 4))
    together = alpha_rank(one_population(payoffs), 0.7)
    alone = [alpha_rank(one_population(p), 0.7) for p in payoffs]
    assert np.allclose(together, alone)


def test_ranks_of_few_games_are_uncertain():
    """The payoff table is resampled, and ranks come with intervals: the first is not sure yet."""
    rng = np.random.default_rng(0)
    few = from_matrix("abc", [[0, 6, 7], [4, 0, 6], [3, 4, 0]])
    many = from_matrix("abc", [[0, 600, 700], [400, 0, 600], [300, 400, 0]])

    def rank(tally):
        return alpha_rank_limit(one_population(tally.win_rate))

    unsure, sure = few.interval(rank, rng)[0], many.interval(rank, rng)[0]
    assert unsure.point == sure.point == pytest.approx(0.980198, abs=1e-6)
    assert unsure.low < 0.4
    assert sure.low == pytest.approx(sure.point)


def test_shares_of_roles():
    game = one_population_per_role([np.random.default_rng(0).random((2, 3))] * 2)
    shares = alpha_rank(game, 0.1)
    rows, columns = shares_by_role(shares, game.shape)
    assert rows == pytest.approx(shares.reshape(2, 3).sum(1))
    assert columns == pytest.approx(shares.reshape(2, 3).sum(0))


@given(st.integers(0, 30))
def test_the_stationary_distribution_is_one(seed):
    rng = np.random.default_rng(seed)
    chain = rng.dirichlet(np.ones(6), size=6) ** 3
    np.fill_diagonal(chain, 0)
    chain += np.diag(1 - chain.sum(1))
    shares = stationary(np.log(chain))
    assert shares @ chain == pytest.approx(shares)
    assert shares.sum() == pytest.approx(1)


def test_a_chain_in_two_parts_is_refused():
    with pytest.raises(ConfigError, match="not unique"), np.errstate(divide="ignore"):
        stationary(np.log([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1.0]]))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: one_population([[1.0]]), "at least two agents"),
        (lambda: one_population(np.arange(9.0).reshape(3, 3), selection="global"), "constant-sum"),
        (lambda: one_population_per_role([]), "got shapes none"),
        (lambda: one_population_per_role([[1, 2], [3, 4]]), r"got shapes \(2,\), \(2,\)"),
        (lambda: one_population_per_role([[[1.0]], [[1.0]]]), "two strategies"),
        (lambda: alpha_rank(one_population(T), np.inf), "alpha=inf"),
        (lambda: alpha_rank_limit(one_population(T), 0), "epsilon=0"),
        (lambda: shares_by_role([0.5, 0.5], (3,)), "do not fit"),
        (lambda: one_population(T, population=1), "population=1"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ConfigError, match=said):
        call()


def test_unknown_selection():
    with pytest.raises(UnknownNameError, match="did you mean 'local'"):
        one_population(T, selection="locale")
