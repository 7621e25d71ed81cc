"""Nash averaging: worked examples, and OpenSpiel's with cvxpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.benchmarks.statistics.nash_averaging import (
    log_odds,
    max_entropy,
    nash_average,
    nash_average_tasks,
)
from coevo.envs.core.errors import CoevoError, ConfigError

RPS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
COPIED = np.array([[0, 0, -1, 1], [0, 0, -1, 1], [1, 1, 0, -1], [-1, -1, 1, 0]])


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
def test_agents_of_worked_examples(payoffs, weights, skill):
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
    assert found == pytest.approx(oracle["agents"], abs=1e-4)


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
    assert found == pytest.approx([0.5, 0.5])


def test_log_odds_are_clipped_and_antisymmetric():
    odds = log_odds([[0.5, 1.0], [0.0, 0.5]], clip=0.01)
    assert odds[0, 1] == pytest.approx(np.log(99)) == pytest.approx(-odds[1, 0])


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: nash_average([[0, 1], [1, 0]]), ConfigError, "antisymmetric"),
        (lambda: log_odds([[0.5, 0.5], [0.6, 0.5]]), ConfigError, "must be 1"),
        (lambda: log_odds(np.full((2, 2), 0.5), clip=0.5), ConfigError, "clip=0.5"),
        (lambda: nash_average_tasks([[1, 2], [1, 2]]), ConfigError, "tells them apart"),
        (lambda: max_entropy(np.ones((1, 2))), CoevoError, "no solution"),
    ],
)
def test_bad_input_is_named(call, error, said):
    with pytest.raises(error, match=said):
        call()
