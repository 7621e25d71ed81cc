"""The soak of the environments, at a size of seconds."""

import numpy as np
import pytest
from soak import FUZZ, check, soak

from coevo.envs import list_envs, make

IDS = [spec.id for spec in list_envs()]


def test_random_and_fuzzed_replies_leave_a_legal_state_in_every_environment():
    found = soak(IDS, 200 * len(IDS), fuzzed=0.3)
    assert found.faults == []
    assert found.steps == 200 * len(IDS) and found.stops["forfeit"] > 0
    assert found.stops["finished"] > 0 and found.files


def test_a_fault_is_seen():
    env = make("coevo/kuhn_poker-v0")
    env.reset(seed=0)
    assert check(env) == ""
    env.rewards["player_0"] = np.nan
    assert "rewards" in check(env)
    env.reset(seed=0)
    env.terminations["player_0"] = True
    assert "ends [True, False]" in check(env)


def test_the_slope_is_that_of_the_later_half():
    found = soak(["coevo/kuhn_poker-v0"], 1000)
    found.memory = [100.0, 150.0, 200.0, 201.0, 202.0, 203.0]
    assert found.slope == pytest.approx(100_000 * 1 / (found.steps / 6))
    assert len(set(FUZZ)) == len(FUZZ)
