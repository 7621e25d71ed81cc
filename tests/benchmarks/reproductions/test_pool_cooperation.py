"""Cooperation in a pool: what is measured, at a size that shows nothing."""

from dataclasses import replace

from coevo.benchmarks.reproductions.claims import pool_cooperation as module


def test_a_short_run_has_all_figures(monkeypatch):
    monkeypatch.setattr(module, "EPISODES", 4)
    monkeypatch.setattr(module, "OTHERS", 2)
    claim = module.CLAIM
    small = replace(claim, changes={**claim.changes, "collect.episodes": 8})
    figures = small.run([0], steps=1).figures
    assert all(0 <= f.mean <= 1 for f in figures if "cooperation" in f.label)
    assert [f.label for f in figures if f.bounded]
