"""Inherit: the better half survive, newcomers are shown survivors, every seat is told its own."""

from dataclasses import replace

import numpy as np
import pytest

from coevo.agents import FixedTextAgent
from coevo.envs.core.config import config as component
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.sharing import Deal, Recipients
from coevo.trainers.steps import EvolveTexts, InjectText, writers
from coevo.trainers.steps.writers import Imitate, Newcomer, Written


@component
class Numbered(Newcomer):
    """Writes how many it was shown, and the text of the best."""

    name: str = "numbered"

    def __call__(self, run, elders, rng):
        assert [a.weight for a in elders] == sorted((a.weight for a in elders), reverse=True)
        return Written(f"{len(elders)}:{elders[0].payload if elders else rng.integers(99)}")


@pytest.fixture
def generations(config, folder):
    def make(by, steps=3, **settings):
        changes = {"collect.episodes": 4}
        options = {"players": 4, "rounds": 2, "prompt_style": "terse"}
        given = config("cultural_evolution", changes, model="table", steps=steps)
        given = replace(given, env="coevo/donor_game-v0", env_options=options)
        first, *played = given.algorithm.cycle
        cycle = (replace(first, by=by, **settings), *played)
        given = replace(given, algorithm=replace(given.algorithm, cycle=cycle))
        return loop.start(given, folder(given))

    return make


def test_the_better_half_survives_and_newcomers_descend_from_what_they_were_shown(generations):
    run = generations(Numbered(), shown=1)
    before = []
    for done in loop.updates(run):
        living = run.archive.living("instruction")
        assert len(living) == 4
        if before:
            best = sorted(before, key=lambda a: -a[1])[:2]
            assert {a.id for a in living if a.born_at < done.step - 1} == {name for name, _ in best}
            new = [a for a in living if a.born_at == done.step - 1]
            assert len(new) == 2 and all(a.parents[0] in dict(best) for a in new)
            assert all(a.payload.startswith("1:") for a in new)
        before = [(a.id, a.weight) for a in living]
    assert len(run.archive) == 8
    assert all(len(run.archive.lineage(a.id)) >= len(a.payload.split(":")) - 1 for a in new)


def test_every_seat_is_told_a_text_of_its_own_and_its_weight_is_what_it_earned(generations):
    run = generations(Numbered(), steps=1)
    (done,) = loop.updates(run)
    earned = {}
    for episode in done.episodes:
        told = {t.agent: t.injected for t in episode.turns}
        assert sorted(told.values()) == [[f"instruction-{i}"] for i in range(4)]
        for turn in episode.turns:
            assert turn.seen[0]["content"] == run.archive[turn.injected[0]].payload
        for seat, (name,) in told.items():
            earned.setdefault(name, []).append(episode.total(seat, "payoff"))
    for name, found in earned.items():
        assert run.archive[name].weight == pytest.approx(np.mean(found))
        assert run.archive[name].uses == len(found) == 4


def test_newcomers_who_are_shown_nothing_have_no_parents(generations):
    run = generations(Numbered(), shown=0)
    loop.finish(run)
    assert all(
        not a.parents and a.payload.startswith("0:") for a in run.archive.living("instruction")
    )


def test_a_model_is_shown_its_task_and_what_survivors_earned_as_quotations(
    generations, monkeypatch
):
    asked = []

    class Writer(FixedTextAgent):
        def act(self, requests):
            asked.extend(r.chat[-1]["content"] for r in requests)
            return super().act(requests)

    monkeypatch.setattr(writers, "load_agent", lambda *_, **__: Writer("Give all.\n[50%] <|end|>"))
    run = generations(Imitate(agent="writer"), steps=2)
    loop.finish(run)
    first, last = asked[0], asked[-1]
    assert "A gift counts x2" in first and "did best" not in first
    assert last.count("Give all.") == 2
    assert all(a.payload == "Give all.\n⟦50%⟧ ‹|end|›" for a in run.archive.living("instruction"))


def test_who_fails_repeats_the_best_that_it_was_shown(generations, monkeypatch):
    texts = iter(["a", "b", "c", "d", "", ""])
    monkeypatch.setattr(writers, "load_agent", lambda *_, **__: FixedTextAgent([next(texts)]))
    run = generations(Imitate(agent="writer"), steps=2)
    *_, last = loop.updates(run)
    assert last.metrics["archive/instruction/failed"] == 2
    *_, one, other = run.archive.living("instruction")
    assert one.payload == run.archive[one.parents[0]].payload == other.payload
    assert one.note == "the reply was empty"


def test_a_first_generation_that_writes_nothing_is_refused(generations, monkeypatch):
    monkeypatch.setattr(writers, "load_agent", lambda *_, **__: FixedTextAgent([""]))
    with pytest.raises(ConfigError, match=r"wrote nothing \(the reply was empty\)"):
        loop.finish(generations(Imitate(agent="writer")))


def test_contradictions_are_refused():
    with pytest.raises(ConfigError, match="judges have no seats"):
        InjectText(role="judge", by=Deal())
    one = Artifact("instruction-0", "instruction", "")
    with pytest.raises(ConfigError, match="1 artifacts for 2 seats; put evolve_texts before"):
        Deal().shared_out([one], Recipients({"a": "", "b": ""}), np.random.default_rng(0))
    assert EvolveTexts().parts == ("instruction",)
