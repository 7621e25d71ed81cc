"""What is measured of networks that learn in grid worlds, before they have learnt anything."""

import pytest

from coevo.benchmarks.reproductions.claims import gathering_beam as gathering


def test_random_play_fires_at_an_eighth_of_the_steps():
    found = gathering.CLAIM.measures("scarce", steps=1)
    assert found["beams"] == pytest.approx(1 / 8, abs=0.025)  # 3 sd of 1,800 moves
    assert 0 < found["out"] < gathering.GATHERERS
