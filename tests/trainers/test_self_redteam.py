"""Self-RedTeam: demonstrations beside play, who moves, what is logged, who learns."""

import math

import pytest

from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import context_of, start, updates
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps.diversity import move_entropy, text_diversity

ENV = "coevo/redteam-v0"


@pytest.fixture
def run(tmp_path):
    """Make a run on tables: `run(variant, changes, **options of the environment)`."""

    def make(variant=None, changes=None, steps=2, **options):
        config = TrainConfig(
            algorithm=algorithm(
                "self_redteam", variant, {"collect.episodes": 32, **(changes or {})}
            ),
            env=ENV,
            env_options={"prompt_style": "terse", **options},
            model="table",
            steps=steps,
            device="cpu",
            threads=1,
        )
        folder = RunFolder(tmp_path / "run")
        folder.create(config)
        return start(config, folder)

    return make


def taken(made, until):
    """Take the steps of an update up to one of them; return the context."""
    ctx = context_of(made)
    for step in made.config.algorithm.cycle:
        step(ctx)
        played = "advantages" in ctx.items or until == "make_items"
        if played and step.name == until:
            break
    return ctx


def test_only_granted_benign_requests_are_demonstrated(run):
    ctx = taken(run(), "make_items")
    items = ctx.items["demonstrations"]
    turns = [t for e in ctx.episodes.episodes for t in e.turns if t.token_ids]
    assert turns and all(t.notes["kind"] == "benign" and t.role == "defender" for t in turns)
    assert {t.move for t in turns} == {"tell", "refuse"}, "a benign request may look harmful"
    granted = sum(t.move == "tell" for t in turns)
    assert len(items) == min(granted, 32) and set(items.worth_NK.flatten().tolist()) == {2.0}


def test_play_follows_demonstrations_and_is_what_is_logged(run):
    ctx = taken(run(), "measure_diversity")
    turns = [t for e in ctx.episodes.episodes for t in e.turns]
    assert {t.player for t in turns} == {"policy"}
    assert not any("demonstrated_by" in t.notes for t in turns)
    mean = sum(e.total("defender_0") for e in ctx.episodes.episodes) / 32
    assert ctx.metrics["return/defender_0"] == pytest.approx(mean)
    forms = [t.move for t in turns if t.role == "attacker"]
    assert ctx.metrics["diversity/attacker"] == pytest.approx(move_entropy(forms))


def test_an_attacker_that_did_not_move_has_no_trajectory(run):
    ctx = taken(run(), "measure_diversity")
    asked = [e for e in ctx.episodes.episodes if len(e.turns) == 2]
    assert 0 < len(asked) < 32
    assert len(ctx.batch) == 32 + len(asked)


def test_all_rewards_are_whitened_together(run):
    batch = taken(run(changes={"advantage.kl_in_reward": 0.0}), "measure_diversity").batch
    a = batch.advantage_CL[batch.mask_CL]
    assert float(a.mean()) == pytest.approx(0, abs=1e-6)
    assert float(a.std()) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("variant", "learners"),
    [
        (None, ["policy"]),
        ("defender_only", ["defender"]),
        ("attacker_only", ["attacker"]),
        ("two_sets", ["attacker", "defender"]),
        ("no_demonstrations", ["policy"]),
    ],
)
def test_who_learns(run, variant, learners):
    made = run(variant)
    before = {n: x.agent.model.logits_RA.detach().clone() for n, x in made.learners.items()}
    assert sorted(before) == learners
    logs = [u.metrics for u in updates(made)]
    assert all((x.agent.model.logits_RA != before[n]).any() for n, x in made.learners.items())
    assert "outcome/over_refusal" in logs[-1] and "outcome/attack_success" in logs[-1]
    imitates = any("sft/" in name for name in logs[-1])
    assert imitates is (variant not in ("attacker_only", "no_demonstrations"))


def test_parts_may_be_weighed(run):
    changes = {"advantage.reward_weights": {"kept": 0.0, "refusal": 0.0}}
    ctx = taken(run("no_demonstrations", changes, apart=True), "measure_diversity")
    assert {"kept", "response", "refusal"} <= set(ctx.batch.components)
    a = ctx.batch.advantage_CL[ctx.batch.mask_CL]
    assert len(a.round(decimals=3).unique()) == 2, "the code word was told, or it was not"


def test_diversity_by_hand():
    assert move_entropy(["a", "b", "c", "a"]) == pytest.approx(1.5 * math.log(2))
    one, other = "abcx", "abcy"  # grams abc bcx, abc bcy: cosine 1/2
    assert text_diversity([one, other]) == pytest.approx(0.5)
    assert text_diversity([one, one, other]) == pytest.approx(1 - (1 + 0.5 + 0.5) / 3)
