"""Generations, and adaptability."""

import math

import numpy as np
import pytest

from coevo.benchmarks.statistics.adaptability import partner_gap, severity_curve
from coevo.benchmarks.statistics.generations import ancestry, generation_table, nash_reference
from coevo.benchmarks.statistics.social import (
    efficiency,
    equality,
    peace,
    social_outcome,
    social_outcomes,
    sustainability,
)
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status

# ---- Generations -----------------------------------------------------------------------------


def test_a_circle_wins_every_step_and_gets_nowhere():
    """Rock, paper, scissors, rock: each beats the one before, the last forgets the second."""
    beats = np.array(
        [[0.5, 0.1, 0.9, 0.5], [0.9, 0.5, 0.1, 0.9], [0.1, 0.9, 0.5, 0.1], [0.5, 0.1, 0.9, 0.5]]
    )
    found = ancestry(beats)
    assert found.score == pytest.approx(0.9)
    assert found.worst[2:].tolist() == [0.1, 0.1]
    assert found.lost_to[1:].tolist() == [0, 1, 1]
    assert np.isnan([found.previous[0], found.lost_to[0]]).all()


def test_steady_progress_loses_to_nobody():
    strength = np.arange(4.0)
    rates = 1 / (1 + np.exp(strength - strength[:, None]))
    found = ancestry(rates)
    assert (found.lost_to[1:] == 0).all()
    assert (np.diff(found.mean[1:]) > 0).all()
    assert found.worst[1:] == pytest.approx(found.previous[1:])


def test_better_means_ahead_at_every_percentile():
    scores = [[0, 2, 4, 6], [1, 2, 4, 6], [0, 2, 4, 9], [0, 2, 4, 9]]
    table = generation_table(scores, [10, 10, 10, 10])
    assert table.dominates == (False, True, False, False)
    assert table.participation.tolist() == [0.75, 1, 0.75, 0.75]
    assert (
        table.percentiles[0].tolist()
        == np.percentile([0, 0.2, 0.4, 0.6], [10, 20, 50, 80]).tolist()
    )


def test_a_higher_mean_is_not_enough():
    table = generation_table([[3, 3, 3], [0, 9, 9]], [10, 10, 10])
    assert not table.dominates[1]


def test_the_reference_is_what_the_equilibrium_of_the_population_gets():
    assert nash_reference([[0, 4], [2, 0], [0.1, 0.1]]) == pytest.approx([1, 2], abs=1e-6)


# ---- Adaptability ----------------------------------------------------------------------------


def test_partners_of_worked_examples():
    found = partner_gap([[1, 0.2, 0.3], [0.2, 1, 0.1], [0.3, 0.1, 1]])
    assert found == pytest.approx((1, 0.2))


def test_severity_of_a_change():
    found = severity_curve([0, 0.5, 1.0], [1.0, 0.4, 0.6])
    assert found.worst == 0.4
    assert found.area == pytest.approx(0.6)


# ---- Social outcomes -------------------------------------------------------------------------


REWARDS = [[1, 0, 1, 0, 1], [0, 0, 1, 1, 0]]


def test_social_outcomes_of_worked_examples():
    assert equality([4, 2, 2, 0]) == 0.625
    assert equality([8, 0, 0, 0]) == 0.25
    assert efficiency(REWARDS) == 1
    assert equality(np.sum(REWARDS, axis=1)) == pytest.approx(0.9)
    assert sustainability(REWARDS) == 3.25


def test_undefined_social_outcomes_are_nan():
    assert math.isnan(equality([0, 0]))
    assert math.isnan(equality([3, -1]))
    assert math.isnan(sustainability([[0, -1]]))
    assert sustainability([[0, 0, 1], [0, 0, 0]]) == 3  # who never got anything does not count


def talk(agent, round, paid, **notes):
    turn = Turn(agent, (), "", None, Status.LEGAL, None, round=round, notes=notes)
    turn.pay("payoff", paid)
    turn.pay("shaping", {"a": 100.0})
    return turn


def test_the_outcomes_of_an_episode_come_from_its_payoffs_and_notes():
    episode = Episode("x", 0, {}, ("a", "b"))
    assert all(map(math.isnan, social_outcome(episode).values()))
    episode.turns = [
        talk("a", 0, {"a": 1}),
        talk("b", 0, {"b": 1}, overused=["a"]),
        talk("a", 1, {}, overused=["a", "b"], sanctioned=["b"]),
        talk("b", 2, {"a": 2}, overused=[]),
    ]
    found = social_outcome(episode)
    assert found["efficiency"] == pytest.approx(4 / 3)
    assert found["equality"] == 0.75
    assert found["sustainability"] == pytest.approx((2 + 1) / 2)
    assert found["peace"] == 1.0
    assert found["over_usage"] == 0.5


def test_undefined_outcomes_are_left_out_of_the_mean_and_counted():
    poor, rich = (Episode("x", 0, {}, ("a", "b"), turns=[talk("a", 0, p)]) for p in ({}, {"a": 3}))
    table = social_outcomes([poor, rich, rich])
    assert table["equality"] == {"mean": 0.5, "defined": 2}
    assert table["efficiency"] == {"mean": 2.0, "defined": 3}
    assert table["peace"] == {"mean": None, "defined": 0}


def test_other_social_outcomes():
    assert peace([[0, 0, 0, 1], [0, 1, 0, 1]]) == pytest.approx(1.25)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ancestry([[0.5]]), "two generations"),
        (lambda: generation_table([[1, 2]], [1, 0]), "reference above 0"),
        (lambda: generation_table([[-1, 2]], [1, 1]), "at least 0"),
        (lambda: generation_table([[1, 2]], [1]), "every cell needs"),
        (lambda: partner_gap([[1.0]]), "two agents"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ConfigError, match=said):
        call()
