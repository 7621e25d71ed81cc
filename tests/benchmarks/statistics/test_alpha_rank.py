"""alpha-Rank: worked examples and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.benchmarks.statistics.alpha_rank import (
    alpha_rank,
    alpha_rank_limit,
    sweep,
)
from coevo.envs.core.errors import ConfigError
from tests.benchmarks.statistics.conftest import from_matrix

RPS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
T = np.array([[0.5, 0.8, 0.9], [0.2, 0.5, 0.7], [0.1, 0.3, 0.5]])
WEAK = np.array([[0, -0.1, 1], [0.1, 0, -1], [-1, 1, 0]])
PENNIES = [np.array([[1, -1], [-1, 1]]), np.array([[-1, 1], [1, -1]])]
DILEMMA = [np.array([[3, 0], [5, 1]]), np.array([[3, 5], [0, 1]])]
BATTLE = [np.array([[3, 0], [0, 2]]), np.array([[2, 0], [0, 3]])]


# ---- Worked examples -------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1, 10])
def test_a_pure_cycle_has_no_winner(alpha):
    assert alpha_rank([RPS], alpha) == pytest.approx([1 / 3] * 3, abs=1e-9)
    assert alpha_rank_limit([RPS]) == pytest.approx([1 / 3] * 3)


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
def test_one_population_of_worked_examples(payoffs, alpha, expected):
    assert alpha_rank([payoffs], alpha) == pytest.approx(expected, abs=1e-6)


def test_infinite_alpha_of_worked_examples():
    limit = alpha_rank_limit([T], 0.01)
    assert limit == pytest.approx([0.980198, 0.014777, 0.005025], abs=1e-6)
    assert alpha_rank_limit([WEAK]) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    ("tables", "alpha", "expected"),
    [
        (PENNIES, 1, [0.25] * 4),
        (DILEMMA, 0.1, [0, 0.007337, 0.007337, 0.985325]),
        (BATTLE, 0.01, [0.383842, 0.144060, 0.088255, 0.383842]),
        (BATTLE, 0.1, [0.499986, 0.000028, 0, 0.499986]),
    ],
)
def test_two_roles_of_worked_examples(tables, alpha, expected):
    found = alpha_rank(tables, alpha)
    assert found == pytest.approx(expected, abs=1e-6)


def test_copies_of_an_agent_distort_the_ranks():
    copied = [[0, 0, -1, 1], [0, 0, -1, 1], [1, 1, 0, -1], [-1, -1, 1, 0]]
    found = alpha_rank([copied], 1)
    assert found == pytest.approx([0.2, 0.2, 0.4, 0.2], abs=1e-6)


# ---- Sweep and laws --------------------------------------------------------------------------


def test_who_beats_everybody_ends_with_everything():
    payoffs = np.random.default_rng(5).random((5, 5))
    payoffs[2, :], payoffs[:, 2] = 1.0, 0.0
    assert sweep([payoffs]).shares[-1][2] > 0.99


def test_a_cycle_never_yields_a_single_winner():
    assert sweep([RPS]).shares.max() < 0.34
    # with unequal edges the ranks rest at other values before the weakest edge is felt
    swept = sweep([WEAK])
    assert swept.shares.max() > 0.7
    assert swept.settled
    assert swept.shares[-1] == pytest.approx([1 / 3] * 3, abs=1e-3)


def test_equal_agents_settle_at_once():
    swept = sweep([np.ones((3, 3))])
    assert swept.settled
    assert swept.shares[-1] == pytest.approx([1 / 3] * 3)
    assert not sweep([T], most=2).settled


@given(st.integers(0, 50), st.floats(-100, 100))
def test_a_constant_added_to_all_payoffs_changes_nothing(seed, constant):
    payoffs = np.random.default_rng(seed).random((4, 4))
    moved = alpha_rank([payoffs + constant], 1)
    assert moved == pytest.approx(alpha_rank([payoffs], 1), rel=1e-6, abs=1e-9)


def test_ranks_of_few_games_are_uncertain():
    """The payoff table is resampled, and ranks come with intervals: the first is not sure yet."""
    rng = np.random.default_rng(0)
    few = from_matrix("abc", [[0, 6, 7], [4, 0, 6], [3, 4, 0]])
    many = from_matrix("abc", [[0, 600, 700], [400, 0, 600], [300, 400, 0]])

    def rank(tally):
        rates = tally.win_rate
        flat = rates.reshape(-1, 3, 3)
        return np.reshape([alpha_rank_limit([r]) for r in flat], rates.shape[:-1])

    unsure, sure = few.interval(rank, rng)[0], many.interval(rank, rng)[0]
    assert unsure.point == sure.point == pytest.approx(0.980198, abs=1e-6)
    assert unsure.low < 0.4
    assert sure.low == pytest.approx(sure.point)


def test_a_sweep_ends_where_transitions_are_too_rare():
    with pytest.raises(ConfigError, match=r"alpha=1:.*found 2"):
        alpha_rank(BATTLE, 1)
    swept = sweep(BATTLE)
    assert not swept.settled
    assert swept.shares[-1] == pytest.approx([0.5, 0, 0, 0.5], abs=1e-5)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: alpha_rank_limit([[[1.0]]]), "at least two agents"),
        (lambda: alpha_rank_limit([]), "got shapes none"),
        (lambda: alpha_rank_limit([[1, 2], [3, 4]]), r"got shapes \(2,\), \(2,\)"),
        (lambda: sweep([[[1.0]], [[1.0]]]), "at least two agents"),
        (lambda: alpha_rank([T], np.inf), "alpha=inf"),
        (lambda: alpha_rank_limit([T], 0), "epsilon=0"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ConfigError, match=said):
        call()
