"""What is measured of networks that learn in grid worlds, before they have learnt anything."""

import pytest

from coevo.benchmarks.reproductions.claims import gathering_beam as gathering
from coevo.benchmarks.reproductions.claims import harvest_tragedy as harvest
from coevo.benchmarks.reproductions.claims import ocean_signal as ocean


def test_random_play_fires_at_an_eighth_of_the_steps():
    found = gathering.CLAIM.measures("scarce", steps=1)
    assert found["beams"] == pytest.approx(1 / 8, abs=0.025)  # 3 sd of 1,800 moves
    assert 0 < found["out"] < gathering.GATHERERS


def test_one_window_of_updates_is_the_first_the_best_and_the_last():
    found = harvest.CLAIM.measures("alone", steps=harvest.WINDOW)
    assert found["first"] == found["best"] == found["last"] > 0
    assert found["lasted_first"] == found["lasted_last"] < harvest.STEPS
    assert 0.5 < found["left"] < 1


def test_a_rise_and_a_fall_are_seen_in_windows():
    eaten = harvest.smoothed([0.0] * 5 + [1.0] * 5 + [0.5] * 5)
    assert (eaten[0], max(eaten), eaten[-1]) == (0, 1, 0.5)
    assert len(eaten) == 15 - harvest.WINDOW + 1


def test_signals_at_random_tell_nothing(monkeypatch):
    monkeypatch.setattr(ocean, "GAMES", 6)
    found = ocean.CLAIM.measures("each", steps=1)
    assert found["bits"] < 0.02
    assert 0 < found["efficiency"] < 0.3


def test_scripted_vessels_collect_more_than_random_ones(monkeypatch):
    monkeypatch.setattr(ocean, "GAMES", 6)
    for hears in (True, False):
        assert 0.5 < ocean.scripted(hears, 0)["efficiency"] < 1.1
