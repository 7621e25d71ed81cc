"""The lesson before search self-play: its parts at a tiny size."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

from coevo.agents.load import load_agent
from coevo.benchmarks.reproductions.claims import ssp_lesson, ssp_starter
from coevo.benchmarks.reproductions.run import Arm, trained


def test_the_lesson_is_given_once_and_both_gates_start_from_it(monkeypatch):
    worlds = []

    def untrained(world, arm, seed, changes):
        worlds.append((world.settings["model"], seed, world.options["gate"]))
        policy = load_agent(world.settings["model"], sampling=ssp_starter.REPLY)
        return nullcontext(SimpleNamespace(policy=lambda: policy))

    monkeypatch.setattr(ssp_lesson, "LESSON", replace(ssp_lesson.LESSON, turns=64, epochs=1.0))
    monkeypatch.setattr(ssp_lesson, "PLAYS", 6)
    monkeypatch.setattr(ssp_lesson, "trained", untrained)
    found = {figure.label: figure for figure in ssp_lesson.CLAIM.run([3]).figures}
    ssp_lesson._lesson.cache_clear()
    assert [(seed, gate) for _, seed, gate in worlds] == [(3, "full"), (3, "tag")]
    assert len({model for model, *_ in worlds}) == 1
    # Nothing was trained after the lesson, and the same plays are drawn again.
    kept = found["valid proposals that the gate keeps"]
    assert kept.measured == (0.0,) and not kept.holds
    assert 0 <= found["valid proposals: shipped model"].mean <= 0.5


def test_a_run_starts_from_the_given_model():
    world = ssp_starter.search("starter", world_seed=0, gate="tag")
    with trained(world, Arm("ssp"), 0, {"collect.episodes": 2}, steps=1) as end:
        assert end.policy().version == 1
