"""Cycles: what is refused when they are read, and when conditional steps are taken."""

from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar, Literal

import pytest

from coevo.envs.core.config import assign, config, plain, read
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import ALGORITHMS, algorithm
from coevo.trainers.cycle import Step, in_words
from coevo.trainers.losses import Dpo, Policy, Sft
from coevo.trainers.steps import (
    POLICY_GRADIENT,
    Best,
    BuildBatch,
    Collect,
    ComputeAdvantages,
    Every,
    Explore,
    FitRewards,
    MakeItems,
    Pairs,
    Update,
    UpdateReference,
    When,
)

GRPO = ALGORITHMS["grpo"]


@pytest.mark.parametrize(
    ("cycle", "words"),
    [
        (
            (Collect(), Update()),
            r"step 2, update, needs advantages.*put compute_advantages before it",
        ),
        ((BuildBatch(), Collect()), r"step 1, build_batch, needs episodes.*put collect before it"),
        (
            (Collect(), ComputeAdvantages(), Update()),
            r"compute_advantages, needs batch.*put build_batch before it",
        ),
        (
            (Collect(), BuildBatch(), Update(losses=(Dpo(),))),
            r"update\(dpo\), needs pairs.*put make_items\(pairs\) before it",
        ),
        (
            (Collect(), BuildBatch(), MakeItems(to=Pairs()), Update(losses=(Dpo(), Sft()))),
            r"needs demonstrations.*put make_items\(best\) before it",
        ),
        (
            (Collect(), BuildBatch(), Every(updates=2, step=ComputeAdvantages()), Update()),
            "needs advantages",  # what is given now and then is not given
        ),
        ((Explore(), *POLICY_GRADIENT), "step 1, explore, works with fit_values alone"),
        ((Collect(), BuildBatch()), "nothing in it learns"),
        ((), "nothing in it learns"),
    ],
)
def test_a_cycle_that_cannot_work_is_refused_in_one_line(cycle, words):
    with pytest.raises(ConfigError, match=words) as error:
        replace(GRPO, cycle=cycle)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ([{"name": "colect"}], "did you mean 'collect'"),
        ([{"name": "update", "losses": [{"name": "dop"}]}], "did you mean 'dpo'"),
        ([{"name": "update", "losses": []}], "at least 1 item"),
        ([{"name": "make_items"}], "to is missing"),
        (
            [{"name": "every", "updates": 0, "step": {"name": "fit_rewards"}}],
            "greater than or equal to 1",
        ),
    ],
)
def test_a_step_that_is_misspelt_is_named(tree, words):
    with pytest.raises(CoevoError, match=words):
        assign(GRPO, {"cycle": tree})


def test_a_bare_name_is_a_step():
    bare = [
        "collect",
        "build_batch",
        "compute_advantages",
        "update",
        "replay_update",
        "fit_rewards",
    ]
    assert assign(GRPO, {"cycle": bare}).cycle == GRPO.cycle == POLICY_GRADIENT
    assert read(Algorithm, plain(GRPO)) == GRPO


def test_what_a_cycle_needs_of_the_reference_is_known_without_a_run():
    known = {name: (a.needs_reference, a.moves_reference) for name, a in ALGORITHMS.items()}
    assert known["spo"] == known["optima"] == (False, False)
    assert known["rpo"] == (True, False)
    assert known["dno"] == known["sppo"] == (True, True)
    hybrid = algorithm("optima", "hybrid")
    assert hybrid.needs_reference, "a step that is taken now and then needs it too"
    assert in_words(hybrid.cycle) == (
        "collect > build_batch > make_items(best) > make_items(pairs) > every 2: update(sft) > "
        "every 2 from 1: update(rpo) > fit_rewards"
    )


@config
class Note(Step):
    """Counts how often it was taken."""

    moves: ClassVar = True
    name: Literal["note"] = "note"

    def __call__(self, ctx):
        ctx.estimator_state.setdefault("taken", []).append(ctx.step)


def test_conditional_steps_are_taken_when_they_are_due():
    every, when, state = Every.__new__(Every), When.__new__(When), {}
    for made, given in (
        (every, {"updates": 3, "first": 1, "step": Note()}),
        (when, {"metric": "items/pairs", "least": 2.0, "most": 3.0, "step": Note()}),
    ):
        for name, value in given.items():
            object.__setattr__(made, name, value)
    for step in range(8):
        every(SimpleNamespace(step=step, estimator_state=state))
    assert state["taken"] == [1, 4, 7]
    for found in ({}, *({"items/pairs": n} for n in (1.0, 2.0, 4.0))):
        when(SimpleNamespace(step=9, metrics=found, estimator_state=state))
    assert state["taken"] == [1, 4, 7, 9]


def test_a_step_of_ones_own_takes_part(config, folder):
    given = config("reinforce", steps=2)
    given = replace(
        given, algorithm=replace(given.algorithm, cycle=(*given.algorithm.cycle, Note()))
    )
    run = loop.start(given, folder(config("reinforce")))
    loop.finish(run)
    assert run.estimator_state["taken"] == [0, 1]


MIXED = (
    UpdateReference(),
    Collect(),
    BuildBatch(),
    ComputeAdvantages(),
    MakeItems(to=Pairs()),
    MakeItems(to=Best()),
    Every(updates=2, step=Update(losses=(Policy(), Dpo(weight=0.5), Sft(weight=0.1)))),
    Every(updates=2, first=1, step=Update(losses=(Dpo(),))),
    FitRewards(),
)


def test_a_mixed_cycle_resumes_without_a_difference(config, folder):
    changes = {
        "collect.group_size": 4,
        "optim.epochs": 2,
        "optim.minibatches": 2,
        "cycle": MIXED,
    }
    given = config("grpo", changes, steps=4, checkpoint_every=1, keep_checkpoints=9)
    straight, halted = folder(given, "straight"), folder(given, "halted")
    whole = loop.train(given, straight)
    loop.train(given, halted)
    for _ in range(3):  # back to after the first update
        checkpoint.remove(checkpoint.latest(halted.checkpoints))
    again = loop.train(given, halted)
    pairs = zip(
        whole.learners["policy"].model.parameters(),
        again.learners["policy"].model.parameters(),
        strict=True,
    )
    assert all(bool((a == b).all()) for a, b in pairs)
    first, second, *_ = straight.read_metrics()
    assert {"grad_norm", "entropy", "dpo/accuracy", "sft/loss/item", "items/pairs"} <= set(first)
    assert "dpo/accuracy" in second and "entropy" not in second


def test_an_update_moves_the_sets_that_it_names(config, folder):
    given = config(
        "grpo",
        {"population": {"name": "separate"}, "cycle.update.besides": ("player_1",)},
        steps=1,
    )
    run = loop.start(given, folder(given))
    before = {
        name: [p.detach().clone() for p in policy.model.parameters()]
        for name, policy in run.population.learners.items()
    }
    next(loop.updates(run))
    moved = {
        name: any(
            not old.equal(new)
            for old, new in zip(before[name], policy.model.parameters(), strict=True)
        )
        for name, policy in run.population.learners.items()
    }
    assert moved == {"player_0": True, "player_1": False}
