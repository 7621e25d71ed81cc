"""Schedules: the vectors of the specs, their ends, and what is refused."""

import math

import pytest

from coevo.envs.core.errors import ConfigError
from coevo.trainers.samplers import (
    ads_advance,
    ads_discount,
    bonus_weight,
    capped_bonus,
    convex_weight,
    replay_weight,
)


def close(values, expected):
    return values == pytest.approx(expected, abs=5e-5)


def test_spear():
    steps = (0, 50, 100, 200)
    assert close([replay_weight(s, horizon=200) for s in steps], [0, 0.1464, 0.5, 1])
    assert close([bonus_weight(s, horizon=200) for s in steps], [1, 0.8536, 0.5, 0])


def test_spear_after_the_horizon():
    assert replay_weight(10_000, coef=0.25) == 0.25
    assert bonus_weight(201) == 0.0 and bonus_weight(10_000) == 0.0
    assert replay_weight(75, horizon=150) == pytest.approx(0.5)


def test_the_bonus_is_capped_before_it_is_weighted():
    assert capped_bonus(7.0, 0) == 1.0
    assert capped_bonus(7.0, 50) == pytest.approx(bonus_weight(50))
    assert capped_bonus(0.4, 50) == pytest.approx(0.4 * bonus_weight(50))


def test_remix():
    assert close([convex_weight(t) for t in (50, 51, 61, 100)], [1, 0.9, 0.8, 0.5])
    assert [convex_weight(t) for t in (0, 49)] == [1.0, 1.0]
    assert close([convex_weight(t) for t in (60, 70, 91, 1000)], [0.9, 0.8, 0.5, 0.5])


def test_ads_discount():
    ks = (1, 10, 20, 50, 100)
    assert close([ads_discount(k) for k in ks], [0.2, 0.8513, 0.9227, 0.9683, 0.9840])


@pytest.mark.parametrize("k", [3, 40])
def test_a_reward_k_steps_ahead_weighs_alpha(k):
    assert ads_discount(k, alpha=0.3) ** k == pytest.approx(0.3)


def test_ads_advances_while_the_prefix_is_good_enough():
    def whole(k):
        return float(k)

    assert ads_advance(10, whole, whole) == 15
    assert ads_advance(10, whole, whole, most=2) == 12
    assert ads_advance(10, whole, whole, horizon=13) == 13
    assert ads_advance(10, lambda k: 0.0, whole) == 10
    # int(.9 ref): 9 of 10 passes; at k = 11 the same 9 >= int(9.9) passes; at 12 int(10.8) = 10.
    assert ads_advance(10, lambda k: 9.0, whole) == 12


def test_ads_asks_for_the_score_of_the_current_prefix():
    asked = []

    def score(k):
        asked.append(k)
        return math.inf

    ads_advance(4, score, lambda k: 1.0)
    assert asked == [4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: replay_weight(-1), "step=-1"),
        (lambda: bonus_weight(3, horizon=0), "period 0"),
        (lambda: convex_weight(3, floor=2.0), "floor=2.0"),
        (lambda: ads_discount(0), "k=0"),
        (lambda: ads_discount(3, alpha=1.0), "alpha=1.0"),
        (lambda: ads_advance(0, float, float), "k=0"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ConfigError, match=message):
        call()
