"""Cooperation in a pool: what is measured, at a size that shows nothing."""

import pytest

from coevo.agents.load import load_agent
from coevo.benchmarks.reproductions import pool_cooperation as module


def test_cooperation_is_that_of_the_first_with_the_other(monkeypatch):
    monkeypatch.setattr(module, "EPISODES", 3)
    players = {n: load_agent(n) for n in ("tft", "always_c", "always_d")}
    one = {"policy_0": players["tft"], **players}
    assert module.cooperation(one, "always_c") == 1.0
    assert module.cooperation(one, "always_d") == pytest.approx(0.2)  # the first of five rounds
    assert module.cooperation({"policy_0": players["always_d"], **players}, "always_c") == 0.0


def test_a_short_run_has_all_figures(monkeypatch):
    monkeypatch.setattr(module, "EPISODES", 4)
    monkeypatch.setattr(module, "STEPS", 1)
    monkeypatch.setattr(module, "SETTINGS", module.SETTINGS | {"collect.episodes": 8})
    rows = module.run([0]).rows
    assert all(0 <= row.mean <= 1 for row in rows if "cooperation" in row.label)
    assert [row.label for row in rows if row.bounded]
