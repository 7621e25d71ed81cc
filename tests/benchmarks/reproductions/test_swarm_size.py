from dataclasses import replace

import numpy as np
import pytest

from coevo.benchmarks.reproductions.claims import swarm_size as it


def test_gaps_fall_with_the_power_that_fits_them():
    assert it.exponent([1 / n for n in it.SIZES]) == pytest.approx(-1)
    assert it.exponent([n**-0.5 for n in it.SIZES]) == pytest.approx(-0.5)


def test_games_without_text_earn_what_is_expected():
    odds_XA = np.array([[0.2, 0.6, 0.2], *[[0.8, 0.1, 0.1]] * 3, *[[0.1, 0.1, 0.8]] * 4])
    for agents in (5, 50):
        odds_XLA = np.repeat(odds_XA[:, None], it.BEACH.levels, axis=1)
        mean, error = it.simulated(odds_XLA, replace(it.BEACH, agents=agents), 60, 3)
        assert abs(mean - it.expected(it.BEACH, odds_XA, agents)) < 3 * error


def test_a_table_sees_the_site_alone():
    assert it._site("Swarm, beach. You are at site 3. Others: 2 or more left") == "at site 3"
