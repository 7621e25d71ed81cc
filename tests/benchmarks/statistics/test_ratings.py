"""Cross-play and Bradley-Terry: worked examples, and OpenSpiel."""

import math

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from open_spiel.python.algorithms.elo import compute_ratings_from_matrices

from coevo.benchmarks.statistics.bradley_terry import (
    bradley_terry,
    centred_ratings,
    predicted,
    rating_intervals,
    residual,
)
from coevo.benchmarks.statistics.cross_play import CrossPlay, Game
from coevo.envs.core.errors import ConfigError, UnknownNameError
from tests.benchmarks.statistics.conftest import from_matrix

CYCLE = [[0, 9, 1], [1, 0, 9], [9, 1, 0]]


# ---- Cross-play ------------------------------------------------------------------------------


def seats():
    """The first seat of b is worth more than its second, and tasks are played both ways."""
    return CrossPlay(
        ("a", "b"),
        (
            Game("a", "b", 1.0, task=0),
            Game("b", "a", 1.0, task=0),
            Game("a", "b", 0.0, task=1),
            Game("b", "a", 1.0, task=1),
            Game("a", "b", 0.5, task=2, payoffs=(3.0, 4.0)),
        ),
    )


def test_both_seat_orders_weigh_the_same():
    tally = seats().tally()
    assert tally.games.tolist() == [[0, 3], [2, 0]]
    assert tally.seat_points[0, 1] == 0.5
    assert tally.seat_points[1, 0] == 1
    assert tally.win_rate.tolist() == [[0.5, 0.25], [0.75, 0.5]]
    assert tally.wins.tolist() == [[0, 1.5], [3.5, 0]]
    assert np.nanmean(tally.seat_points) == 0.75


def test_payoffs_of_both_seats_are_kept():
    first, second = seats().tally().role_payoffs
    assert first[0, 1] == pytest.approx((1 + 0 + 3) / 3)
    assert second[0, 1] == pytest.approx((0 + 1 + 4) / 3)
    payoff = seats().tally().payoff
    assert payoff[0, 1] == pytest.approx((4 / 3 + 0) / 2)
    assert payoff[1, 0] == pytest.approx((1 + 5 / 3) / 2)
    assert np.isnan(payoff[0, 0])


def test_an_agent_may_play_itself():
    tally = CrossPlay(("a",), (Game("a", "a", 1.0, payoffs=(2.0, 4.0)),)).tally()
    assert tally.payoff.tolist() == [[3.0]]
    assert tally.wins.tolist() == [[0.0]]


def test_tasks_are_resampled_whole(rng):
    games = [g for d in range(6) for g in (Game("a", "b", 1.0, d), Game("b", "a", 0.0, d))]
    games += [g for d in range(6, 8) for g in (Game("a", "b", 0.0, d), Game("b", "a", 1.0, d))]
    tally = CrossPlay(("a", "b"), tuple(games)).resampled(rng, 4000)
    assert (tally.games[:, 0, 1] == 8).all() and (tally.games[:, 1, 0] == 8).all()
    assert (tally.points[:, 0, 1] == 8 - tally.points[:, 1, 0]).all()
    rate_B = tally.win_rate[:, 0, 1]
    assert rate_B.mean() == pytest.approx(0.75, abs=0.01)
    assert rate_B.var() == pytest.approx(0.75 * 0.25 / 8, rel=0.1)  # 8 tasks, not 16 games


def test_no_replicate_loses_a_seat_order(rng):
    games = (Game("a", "b", 1.0, 0), Game("b", "a", 0.0, 1), Game("a", "b", 0.0, 2))
    assert not np.isnan(CrossPlay(("a", "b"), games).resampled(rng, 200).win_rate).any()


def test_a_missing_seat_order_is_undefined():
    games = CrossPlay(("a", "b", "c"), (Game("a", "b", 1.0), Game("b", "a", 1.0)))
    assert np.isnan(games.tally().win_rate[0, 2])


@pytest.mark.parametrize(
    ("agents", "game", "error", "said"),
    [
        (("a", "a"), None, ConfigError, "different names"),
        (("a", "b"), Game("a", "x", 1.0), UnknownNameError, "unknown agent 'x'"),
        (("a", "b"), Game("a", "b", 2.0), ConfigError, "points=2.0"),
        (("a", "b"), Game("a", "b", 1.0, 0, (math.nan, 0.0)), ConfigError, "not finite"),
    ],
)
def test_bad_games_are_named(agents, game, error, said):
    with pytest.raises(error, match=said):
        CrossPlay(agents, (game,) if game else ())


# ---- Bradley-Terry ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wins", "plain", "smoothed"),
    [
        ([[0, 2], [1, 0]], [120.411998, 0], [119.549873, 0]),
        (
            [[0, 4, 2], [1, 0, 2], [3, 3, 0]],
            [147.190714, 0, 147.190714],
            [146.532068, 0, 146.532068],
        ),
        (
            [[0, 8, 9], [2, 0, 7], [1, 3, 0]],
            [384.885425, 145.836353, 0],
            [383.622474, 145.382228, 0],
        ),
    ],
)
def test_ratings_of_worked_examples(wins, plain, smoothed):
    assert bradley_terry(wins, smoothing=0) == pytest.approx(plain, abs=1e-6)
    assert bradley_terry(wins) == pytest.approx(smoothed, abs=1e-6)


@pytest.mark.parametrize("size", [2, 4, 7])
def test_open_spiel_finds_the_same_ratings(size):
    rng = np.random.default_rng(size)
    wins, draws = rng.integers(0, 30, size=(2, size, size))
    draws = np.triu(draws, 1)
    draws = draws + draws.T
    np.fill_diagonal(wins, 0)
    expected = compute_ratings_from_matrices(wins, draws, max_iterations=20_000)
    assert bradley_terry(wins + draws / 2) == pytest.approx(expected - expected.min(), abs=1e-3)
    assert pyspiel.elo.DEFAULT_SMOOTHING_FACTOR == 0.01


def test_pairs_that_never_met_are_rated_through_others():
    wins = [[0, 7, 0], [3, 0, 6], [0, 4, 0]]
    expected = compute_ratings_from_matrices(np.array(wins), max_iterations=20_000)
    assert bradley_terry(wins) == pytest.approx(expected - expected.min(), abs=1e-3)


@given(st.permutations(range(4)))
def test_names_do_not_matter(order):
    wins = np.array([[0, 8, 9, 3], [2, 0, 7, 4], [1, 3, 0, 5], [2, 2, 6, 0]])
    shuffled = wins[np.ix_(order, order)]
    assert bradley_terry(shuffled) == pytest.approx(bradley_terry(wins)[order], abs=1e-6)


def test_the_ratings_solve_the_likelihood_equations(rng):
    wins = rng.integers(1, 40, size=(6, 6)) * (1 - np.eye(6))
    games = wins + wins.T
    expected = (games * predicted(bradley_terry(wins, smoothing=0))).sum(1)
    assert expected == pytest.approx(wins.sum(1))


def test_an_unbeaten_agent_needs_smoothing():
    with pytest.raises(ConfigError, match="never lost"):
        bradley_terry([[0, 5, 5], [0, 0, 3], [0, 2, 0]], smoothing=0)
    assert bradley_terry([[0, 100_000], [0, 0]])[0] == pytest.approx(
        400 * math.log10((100_000 + 0.01) / 0.01), abs=1e-4
    )


def test_a_cycle_shows_in_the_residual_only():
    ratings = bradley_terry(CYCLE)
    assert ratings == pytest.approx([0, 0, 0], abs=1e-9)
    assert residual(CYCLE, ratings) == pytest.approx(0.4)
    two = [[0, 9], [1, 0]]
    assert residual(two, bradley_terry(two, smoothing=0)) == pytest.approx(0, abs=1e-9)


def test_intervals_hold_the_rating_and_shrink_with_games(rng):
    wins = np.array([[0, 12, 15], [8, 0, 11], [5, 9, 0]])
    few = rating_intervals(from_matrix("abc", wins.tolist()), rng, 400)
    many = rating_intervals(from_matrix("abc", (16 * wins).tolist()), rng, 400)
    assert [i.point for i in few] == pytest.approx(bradley_terry(wins), abs=1e-6)
    for f, m in zip(few, many, strict=True):
        assert f.low < f.point < f.high  # the lowest agent as well
        assert (f.high - f.low) / (m.high - m.low) == pytest.approx(4, rel=0.25)
    assert few[0].runs == 40


def test_intervals_are_as_wide_as_the_standard_error(rng):
    found = rating_intervals(from_matrix("ab", [[0, 200], [200, 0]]), rng, 4000)
    # each is half a difference from the mean of two agents
    assert (found[0].high - found[0].low) / 2 == pytest.approx(1.96 * 17.4 / 2, rel=0.05)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: bradley_terry([[0, -1], [1, 0]]), "must not be negative"),
        (lambda: bradley_terry([[0, 1, 1], [1, 0, 1]]), "square"),
        (lambda: residual([[0, 0], [0, 0]], [0, 0]), "no two agents have met"),
    ],
)
def test_bad_wins_are_named(call, said):
    with pytest.raises(ConfigError, match=said):
        call()


def test_replicates_are_rated_at_once(rng):
    wins = rng.integers(0, 9, size=(5, 3, 3))
    together = centred_ratings(wins)
    assert np.allclose(together, [centred_ratings(w) for w in wins])
