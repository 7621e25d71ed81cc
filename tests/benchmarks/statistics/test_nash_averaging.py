"""Nash averaging and regret: sheet sections 8 and 9, and OpenSpiel's with cvxpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.benchmarks.statistics.max_entropy import max_entropy
from coevo.benchmarks.statistics.nash_averaging import (
    log_odds,
    nash_average,
    nash_average_tasks,
    nash_conv,
    zero_sum,
)
from coevo.envs.core.errors import CoevoError, ConfigError

RPS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
COPIED = np.array([[0, 0, -1, 1], [0, 0, -1, 1], [1, 1, 0, -1], [-1, -1, 1, 0]])
PENNIES = np.array([[1, -1], [-1, 1]])


# ---- Worked examples -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payoffs", "weights", "skill"),
    [
        (RPS, [1 / 3] * 3, [0, 0, 0]),
        (COPIED, [1 / 6, 1 / 6, 1 / 3, 1 / 3], [0, 0, 0, 0]),
        ([[0, -1, -1], [1, 0, -1], [1, 1, 0]], [0, 0, 1], [-1, -1, 0]),
        (
            log_odds([[0.5, 0.7, 0.4], [0.3, 0.5, 0.8], [0.6, 0.2, 0.5]]),
            [0.525299, 0.153640, 0.321061],
            [0, 0, 0],
        ),
    ],
)
def test_agents_of_the_sheet(payoffs, weights, skill):
    found = nash_average(payoffs)
    assert found.weights == pytest.approx(weights, abs=1e-5)
    assert found.skill == pytest.approx(skill, abs=1e-5)


def test_row_means_mind_copies():
    assert COPIED.mean(1).tolist() == [0, 0, 0.25, -0.25]


def test_copies_of_the_weakest_do_not_move_anybody(rng):
    a = rng.normal(size=(4, 4))
    a = a - a.T
    a[3] = -np.abs(a[3])  # the last one loses to everybody, by different margins
    a[:, 3] = -a[3]
    a[3, 3] = 0
    skill, means = nash_average(a).skill, a.mean(1)
    for copies in (1, 2, 4):
        index = [0, 1, 2, 3] + [3] * copies
        copied = a[np.ix_(index, index)]
        assert nash_average(copied).skill[:4] == pytest.approx(skill, abs=1e-4)
    assert np.abs(copied.mean(1)[:4] - means).max() > 0.1


# ---- OpenSpiel with cvxpy --------------------------------------------------------------------


@pytest.mark.parametrize("case", range(3))
def test_agents_as_in_open_spiel(oracles, case):
    oracle = oracles["agents"][case]
    found = nash_average(oracle["payoffs"])
    assert found.weights == pytest.approx(oracle["weights"], abs=1e-4)
    assert found.skill == pytest.approx(oracle["skill"], abs=1e-4)


@pytest.mark.parametrize("case", range(2))
def test_tasks_as_in_open_spiel(oracles, case):
    oracle = oracles["tasks"][case]
    found = nash_average_tasks(oracle["scores"])
    assert found.agent_weights == pytest.approx(oracle["agents"], abs=1e-4)
    assert found.task_weights == pytest.approx(oracle["tasks"], abs=1e-4)
    assert found.skill == pytest.approx(oracle["skill"], abs=1e-4)
    assert found.difficulty == pytest.approx(oracle["difficulty"], abs=1e-4)


# ---- Laws ------------------------------------------------------------------------------------


@given(st.integers(2, 7), st.integers(0, 200), st.booleans())
def test_it_is_an_equilibrium(size, seed, coarse):
    rng = np.random.default_rng(seed)
    a = rng.integers(-2, 3, size=(size, size)) if coarse else rng.normal(size=(size, size))
    found = nash_average(a - a.T)
    assert found.weights.sum() == pytest.approx(1)
    assert (found.weights >= 0).all()
    assert found.skill.max() <= 1e-6
    assert found.weights @ found.skill == pytest.approx(0, abs=1e-9)


def test_it_has_the_highest_entropy_of_all_equilibria(rng):
    """Two cycles that tie with each other: any mixture of the two is an equilibrium."""
    a = np.zeros((6, 6))
    a[:3, :3], a[3:, 3:] = RPS, RPS
    assert nash_average(a).weights == pytest.approx([1 / 6] * 6, abs=1e-6)
    assert nash_average(np.zeros((5, 5))).weights == pytest.approx([0.2] * 5, abs=1e-6)


def test_many_agents(rng):
    a = rng.normal(size=(40, 40))
    found = nash_average(a - a.T)
    assert found.skill.max() < 1e-5
    assert found.skill[found.weights > 1e-3] == pytest.approx(0, abs=1e-5)


def test_a_task_on_which_all_agents_are_equal_is_dropped():
    found = nash_average_tasks([[0.0, 7.0, 1.0], [1.0, 7.0, 0.0]])
    assert found.dropped == (1,)
    assert found.task_weights == pytest.approx([0.5, 0, 0.5])
    assert np.isnan(found.difficulty[1])
    assert found.difficulty[[0, 2]] == pytest.approx([-0.5, -0.5])


def test_log_odds_are_clipped_and_antisymmetric():
    odds = log_odds([[0.5, 1.0], [0.0, 0.5]], clip=0.01)
    assert odds[0, 1] == pytest.approx(np.log(99)) == pytest.approx(-odds[1, 0])


def test_a_matrix_game_with_a_value():
    row, column = zero_sum([[3, -1], [-2, 1]])
    assert row == pytest.approx([3 / 7, 4 / 7], abs=1e-6)
    assert column == pytest.approx([2 / 7, 5 / 7], abs=1e-6)


# ---- Regret ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tables", "strategies", "regrets"),
    [
        ([PENNIES, -PENNIES], [[0.6, 0.4], [0.5, 0.5]], [0, 0.2]),
        ([PENNIES, -PENNIES], [[0.6, 0.4], [0.7, 0.3]], [0.32, 0.28]),
        ([RPS, -RPS], [[1, 0, 0], [1, 0, 0]], [1, 1]),
        ([RPS, -RPS], [[1 / 3] * 3, [1 / 3] * 3], [0, 0]),
        ([RPS, -RPS], [[0.5, 0.25, 0.25]] * 2, [0.25, 0.25]),
        ([[[3, 0], [5, 1]], [[3, 5], [0, 1]]], [[1, 0], [1, 0]], [2, 2]),
        ([[[3, 0], [5, 1]], [[3, 5], [0, 1]]], [[0, 1], [0, 1]], [0, 0]),
    ],
)
def test_regrets_of_the_sheet(tables, strategies, regrets):
    assert nash_conv(tables, strategies) == pytest.approx(regrets, abs=1e-9)


def test_fictitious_play_of_the_sheet():
    """The average approaches equilibrium while the last move stays as exploitable as any."""
    counts = [np.array([1.0, 0, 0]), np.array([0, 1.0, 0])]
    found = {}
    for step in range(1, 1001):
        moves = [int(np.argmax(RPS @ counts[1])), int(np.argmax(-RPS.T @ counts[0]))]
        for player, move in enumerate(moves):
            counts[player][move] += 1
        if step in (10, 100, 1000):
            average = [c / c.sum() for c in counts]
            found[step] = nash_conv([RPS, -RPS], average).sum()
    assert found == pytest.approx({10: 0.5455, 100: 0.1683, 1000: 0.0529}, abs=1e-4)
    assert nash_conv([RPS, -RPS], [np.eye(3)[m] for m in moves]).sum() == 2


def test_regrets_of_three_players(rng):
    tables = rng.random((3, 2, 3, 2))
    strategies = [rng.dirichlet(np.ones(n)) for n in (2, 3, 2)]
    value = np.einsum("abc,a,b,c->", tables[1], *strategies)
    best = np.einsum("abc,a,c->b", tables[1], strategies[0], strategies[2]).max()
    assert nash_conv(list(tables), strategies)[1] == pytest.approx(best - value)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: nash_average([[0, 1], [1, 0]]), ConfigError, "antisymmetric"),
        (lambda: log_odds([[0.5, 0.5], [0.6, 0.5]]), ConfigError, "must be 1"),
        (lambda: log_odds(np.full((2, 2), 0.5), clip=0.5), ConfigError, "clip=0.5"),
        (lambda: nash_average_tasks([[1, 2], [1, 2]]), ConfigError, "tells them apart"),
        (lambda: nash_conv([PENNIES], [[1.0]]), ConfigError, "expected 1 axes"),
        (lambda: nash_conv([PENNIES, PENNIES], [[1, 0], [1, 1]]), ConfigError, "sum to 1"),
        (lambda: nash_conv([PENNIES, PENNIES], [[1], [0, 1]]), ConfigError, "do not fit"),
        (lambda: max_entropy(np.ones((1, 2))), CoevoError, "no solution"),
    ],
)
def test_bad_input_is_named(call, error, said):
    with pytest.raises(error, match=said):
        call()
