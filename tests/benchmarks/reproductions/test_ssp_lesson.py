"""The lesson before search self-play: its parts at a tiny size."""

from dataclasses import replace

import pytest

from coevo.benchmarks.reproductions import ssp_lesson, ssp_starter


def test_the_lesson_is_given_once_and_both_gates_start_from_it(monkeypatch):
    trained = []

    def train(model, seed, gate):
        trained.append((model, seed, gate))
        return ssp_lesson._loaded(model)

    monkeypatch.setattr(ssp_lesson, "LESSON", replace(ssp_lesson.LESSON, turns=64, epochs=1.0))
    monkeypatch.setattr(ssp_lesson, "PLAYS", 6)
    monkeypatch.setattr(ssp_lesson, "trained", train)
    rows = {row.label: row for row in ssp_lesson.run([3]).rows}
    assert [(seed, gate) for _, seed, gate in trained] == [(3, "full"), (3, "tag")]
    assert len({model for model, *_ in trained}) == 1
    # Nothing was trained after the lesson, and the same plays are drawn again.
    assert rows["valid proposals that the gate keeps"].measured == (0.0,)
    assert not rows["valid proposals that the gate keeps"].holds
    assert 0 <= rows["valid proposals: shipped model"].mean <= 0.5


@pytest.mark.parametrize("gate", ["full", "tag"])
def test_a_run_starts_from_the_given_model(gate, monkeypatch):
    monkeypatch.setattr(ssp_starter, "STEPS", 1)
    policy = ssp_lesson.trained("starter", 0, gate)
    assert policy.version == 1
