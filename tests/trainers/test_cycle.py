"""Cycles: what is refused when they are read, and when conditional steps are taken."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import pytest

from coevo.envs.core.config import assign, config, plain, read
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import ALGORITHMS, algorithm
from coevo.trainers.cycle import Page, Step, in_words
from coevo.trainers.losses import Dpo, Policy, Sft
from coevo.trainers.steps import (
    POLICY_GRADIENT,
    Best,
    Collect,
    Credit,
    Every,
    Fit,
    Pairs,
    Recycle,
    Renew,
    Score,
    Update,
    When,
)

GRPO = ALGORITHMS["grpo"]


@pytest.mark.parametrize(
    ("cycle", "words"),
    [
        ((Collect(), Update()), r"step 2, update, needs advantages.*put credit before it"),
        ((Score(), Collect()), r"step 1, score, needs episodes.*put collect before it"),
        ((Collect(), Credit(), Update()), r"credit, needs batch.*put score before it"),
        (
            (Collect(), Score(), Update(losses=(Dpo(),))),
            r"update\(dpo\), needs pairs.*put recycle\(pairs\) before it",
        ),
        (
            (Collect(), Score(), Recycle(to=Pairs()), Update(losses=(Dpo(), Sft()))),
            r"needs demonstrations.*put recycle\(best\) before it",
        ),
        (
            (Collect(), Score(), Every(updates=2, step=Credit()), Update()),
            "needs advantages",  # what is given now and then is not given
        ),
        ((Collect(), Score()), "nothing in it learns"),
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
        ([{"name": "recycle"}], "to is missing"),
        ([{"name": "every", "updates": 0, "step": {"name": "fit"}}], "greater than or equal to 1"),
    ],
)
def test_a_step_that_is_misspelt_is_named(tree, words):
    with pytest.raises(CoevoError, match=words):
        assign(GRPO, {"cycle": tree})


def test_a_bare_name_is_a_step():
    bare = ["collect", "score", "credit", "update", "recall", "fit"]
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
        "collect > score > recycle(best) > recycle(pairs) > every 2: update(sft) > "
        "every 2 from 1: update(rpo) > fit"
    )


@config
class Note(Step):
    """Counts how often it was taken."""

    moves: ClassVar = True
    name: Literal["note"] = "note"

    def __call__(self, run, page):
        run.taken.append(page.step)


@dataclass
class Taken:
    taken: list[int] = field(default_factory=list)


def test_conditional_steps_are_taken_when_they_are_due():
    every, when, run = (
        Every.__new__(Every),
        When.__new__(When),
        Taken(),
    )
    for made, given in (
        (every, {"updates": 3, "first": 1, "step": Note()}),
        (when, {"metric": "items/pairs", "least": 2.0, "step": Note()}),
    ):
        for name, value in given.items():
            object.__setattr__(made, name, value)
    for step in range(8):
        every(run, Page(step))
    assert run.taken == [1, 4, 7]
    for found in ({}, {"items/pairs": 1.0}, {"items/pairs": 2.0}):
        when(run, Page(len(run.taken), metrics=found))
    assert run.taken == [1, 4, 7, 3]


def test_a_step_of_ones_own_takes_part(config, folder):
    given = config("reinforce", steps=2)
    given = replace(
        given, algorithm=replace(given.algorithm, cycle=(*given.algorithm.cycle, Note()))
    )
    run = loop.start(given, folder(config("reinforce")))
    run.taken = []
    for _ in loop.updates(run):
        pass
    assert run.taken == [0, 1]


MIXED = (
    Renew(),
    Collect(),
    Score(),
    Credit(),
    Recycle(to=Pairs()),
    Recycle(to=Best()),
    Every(updates=2, step=Update(losses=(Policy(), Dpo(weight=0.5), Sft(weight=0.1)))),
    Every(updates=2, first=1, step=Update(losses=(Dpo(),))),
    Fit(),
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
