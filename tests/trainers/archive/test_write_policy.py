"""Programs that play all seats: tried, sent back with the reason, kept where they are no worse."""

from dataclasses import replace

import numpy as np
import pytest

from coevo.agents import FixedTextAgent
from coevo.benchmarks.reproductions.claims import policy_synthesis_feedback as synthesis
from coevo.benchmarks.reproductions.policy_genes import ATTACKS, GENES, Grammar, attacker, genes_of
from coevo.envs import make
from coevo.envs.core.config import config as component
from coevo.trainers import loop
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.steps import writers
from coevo.trainers.steps.mutators import Mutator
from coevo.trainers.steps.write_policy import OF, RewritePolicy
from coevo.trainers.steps.writers import Written

ENV, OPTIONS = "coevo/cleanup-v0", {"steps": 6, "prompt_style": "terse"}
STAY = "def policy(view):\n    return 'stay'"


@component
class Script(Mutator):
    """Gives sources in turn, and notes what it was shown."""

    name: str = "script"
    sources: tuple[str, ...] = ()

    def __call__(self, ctx, parents, rng):
        SHOWN.append([(a.payload, a.note, dict(a.stats)) for a in parents])
        return Written(self.sources[len(SHOWN) - 1])


SHOWN = []


@pytest.fixture
def synthesis_run(config, folder):
    SHOWN.clear()

    def make_run(kind="dense", steps=1, by=None, **settings):
        usual = {"tasks": 2, "smoke": 2}
        changes = {f"cycle.write_policy.{k}": v for k, v in {**usual, **settings}.items()}
        variant = {"cycle.write_policy.outcomes": {}} if kind == "sparse" else {}
        given = config(
            "policy_synthesis", {**variant, **changes}, model="table", steps=steps, env=ENV,
            env_options=OPTIONS,
        )  # fmt: skip
        (step,) = given.algorithm.cycle
        cycle = (replace(step, by=by),)
        given = replace(given, algorithm=replace(given.algorithm, cycle=cycle))
        return loop.start(given, folder(given))

    return make_run


def test_what_fails_goes_back_with_the_reason(synthesis_run):
    sources = ("def policy(view: return", "x = 1", "def policy(view):\n    return 'fly'", STAY)
    run = synthesis_run(by=Script(sources=sources))
    (done,) = loop.updates(run)
    notes = [[note for _, note, _ in shown] for shown in SHOWN]
    assert notes[0] == [] and [len(n) for n in notes[1:]] == [1, 1, 1]
    assert "syntax" in notes[1][0] and "must define policy" in notes[2][0]
    assert "'fly'" in notes[3][0]
    (kept,) = run.archive.living("program", OF)
    assert kept.payload == STAY and done.metrics["programs/failed"] == 3


def test_four_failures_keep_nothing(synthesis_run):
    run = synthesis_run(by=Script(sources=("no",) * 4))
    (done,) = loop.updates(run)
    assert done.metrics["programs/failed"] == 4 and not run.archive.living("program", OF)
    assert "fitness/best" not in done.metrics


def test_a_program_that_earns_less_is_not_kept(synthesis_run):
    good = synthesis.HONEST
    run = synthesis_run(steps=3, by=Script(sources=(STAY, good, STAY)))
    weights = [done.metrics["fitness/best"] for done in loop.updates(run)]
    assert weights == sorted(weights)
    (kept,) = run.archive.living("program", OF)
    better = weights[-1] > 0
    assert kept.payload == (good if better else STAY)
    assert run.archive.lineage(kept.id)[0].payload is None


@pytest.mark.parametrize(
    ("kind", "told"), [("dense", {"reward", "efficiency", "peace"}), ("sparse", {"reward"})]
)
def test_sparse_feedback_is_the_reward_alone(synthesis_run, kind, told):
    loop.finish(synthesis_run(kind, steps=2, by=Script(sources=(STAY, STAY))))
    assert set(SHOWN[1][0][2]) == told, "equality and sustainability of nothing are undefined"


def test_a_model_is_shown_the_view_the_program_and_what_is_undefined(synthesis_run, monkeypatch):
    seen = []

    class Noting(FixedTextAgent):
        def act(self, requests):
            seen.extend(r.chat[-1]["content"] for r in requests)
            return super().act(requests)

    monkeypatch.setattr(
        writers, "load_agent", lambda *a, **k: Noting(f"Sure:\n```python\n{STAY}\n```", "x")
    )
    run = synthesis_run(steps=2, by=RewritePolicy(agent="x"))
    loop.finish(run)
    first, second = seen
    assert "'window'" in first and "policy(view)" in first and "earned" not in first
    assert "return 'stay'" in second and "A seat earned 0 on average" in second
    assert "sustainability (mean step at which a seat was paid): undefined" in second


def test_genes_are_changed_two_at_a_time_and_dense_feedback_says_which(synthesis_run):
    run, rng = synthesis_run(by=Grammar()), np.random.default_rng(0)
    ctx = loop.context_of(run)
    parent = Artifact("p", "program", Grammar()(ctx, [], rng).text, stats={"reward": 0.0})
    old = genes_of(parent.payload)
    assert set(old) == set(GENES)

    def changed():
        new = genes_of(Grammar()(ctx, [parent], rng).text)
        return {n for n in old if new[n] != old[n]}

    assert all(1 <= len(changed()) <= 2 for _ in range(20))
    parent.stats["peace"] = 3.0  # told, and sustainability is undefined
    cleaning = {"cleaners", "dirty", "reach", "river"}
    assert all(changed() & cleaning for _ in range(20))


@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_an_attack_moves_nothing_and_earns_what_honest_play_earns(attack):
    honest, _ = synthesis._watched(synthesis.HONEST, 3)
    earned, moved = synthesis._watched(attacker(synthesis.HONEST, attack), 3)
    assert (earned, moved) == (honest, 0)


def test_the_world_hash_sees_whatever_the_attacks_are_after():
    env = make(synthesis.ENV, **OPTIONS)
    env.reset(seed=0)
    seen = {synthesis.world_hash(env)}
    task = env.task
    for change in (
        lambda: task.plane("apple").fill(1),
        lambda: task.plane("waste").fill(0),
        lambda: task.out.__setitem__(1, 99999),
        lambda: task.at.__setitem__(0, (4, 4)),
        lambda: env.np_random.random(),
    ):
        change()
        seen.add(synthesis.world_hash(env))
    assert len(seen) == 6
