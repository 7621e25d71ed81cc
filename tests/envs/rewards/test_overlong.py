"""DAPO's soft punishment of replies that come close to the limit."""

import math

import pytest

from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import Gated, WeightedSum, reward_modules


def reward(name, **params):
    return reward_modules([{"name": name, **params}])[0]


def weighted(parts, weights=(), **more):
    return WeightedSum(parts=parts, weights=weights, **more)


def gated(module, **more):
    return Gated(module=module, **more)


def paid(module, tokens):
    ids = None if tokens is None else [1] * tokens
    turn = Turn("player_0", (), "[bet]", "bet", Status.LEGAL, ("bet",), token_ids=ids)
    return module.score_turn(Episode("x", 0, {}, ("player_0",), turns=[turn]), turn)


@pytest.mark.parametrize(
    ("tokens", "expected"), [(0, 0.0), (12, 0.0), (14, -0.25), (16, -0.5), (20, -1.0)]
)
def test_worked_numbers(tokens, expected):
    """V10: limit 20, buffer 8."""
    for cap in (False, True):
        module = reward("overlong_penalty", longest=20, buffer=8, cap=cap)
        assert paid(module, tokens) == {"player_0": expected}


def test_beyond_the_limit_the_charge_grows_unless_it_is_capped():
    assert paid(reward("overlong_penalty", longest=20, buffer=8), 28) == {"player_0": -2.0}
    assert paid(reward("overlong_penalty", longest=20, buffer=8, cap=True), 28) == {
        "player_0": -1.0
    }
    assert paid(reward("overlong_penalty", longest=20, buffer=8, factor=0.5), 20) == {
        "player_0": -0.5
    }


def test_the_defaults_are_those_of_dapo():
    assert paid(reward("overlong_penalty"), 20480 - 4096) == {"player_0": 0.0}
    assert paid(reward("overlong_penalty"), 20480) == {"player_0": -1.0}


def test_it_waits_for_the_record_and_passes_over_players_without_tokens():
    assert not reward("overlong_penalty").per_turn
    assert paid(reward("overlong_penalty"), None) == {}


def test_its_range_is_open_below_unless_capped():
    assert reward("overlong_penalty").range == (-math.inf, 0.0)
    assert reward("overlong_penalty", factor=2.0, cap=True).range == (-2.0, 0.0)
    assert reward("overlong_penalty", factor=0.0).range == (0.0, 0.0)


def test_an_open_range_survives_composition():
    parts = [reward("overlong_penalty"), reward("format")]
    assert weighted(parts, [0.0, 1.0]).range == (0.0, 0.05), "0 times infinity is not a number"
    assert weighted(parts, [2.0, 1.0]).range == (-math.inf, 0.05)
    assert gated(parts[0], when=parts[1], least=0.05).range == (-math.inf, 0.0)


@pytest.mark.parametrize(
    "params", [{"buffer": 0}, {"longest": 8, "buffer": 9}, {"factor": -1.0}, {"factor": math.nan}]
)
def test_it_refuses_what_makes_no_sense(params):
    with pytest.raises(ConfigError, match=r"overlong_penalty\.|must be at most longest"):
        reward("overlong_penalty", **params)
