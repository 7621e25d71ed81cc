"""A model that is taught before a claim trains it: every arm of a seed starts from the same one."""

from dataclasses import replace

import pytest

from coevo.benchmarks.reproductions.claims import aa_smollm2
from coevo.benchmarks.reproductions.run import Arm, World, trained
from coevo.benchmarks.reproductions.taught import Taught
from coevo.envs.core.errors import DataError

TAUGHT = Taught("starter", steps=2, replies=4)
WORLD = World("coevo/kuhn_poker-v0", 1, taught=TAUGHT)


def test_arms_of_a_seed_start_from_one_model_and_seeds_from_their_own():
    def begun(name, seed):
        with trained(WORLD, Arm(name, steps=0), seed) as end:
            return end.run.config.model

    assert begun("grpo", 0) == begun("mars", 0) != begun("grpo", 1)


def test_a_claim_on_a_taught_model_runs_and_an_arm_like_its_control_fails():
    world = replace(aa_smollm2.CLAIM.world, taught=TAUGHT)
    arms = dict.fromkeys(aa_smollm2.CLAIM.arms, Arm("advantage_alignment", steps=0))
    found = replace(aa_smollm2.CLAIM, world=world, arms=arms).run([0])
    assert {f.label for f in found.figures if not f.holds} >= {"payoff, alignment - naive"}
    before = next(f.mean for f in found.figures if f.label == "taught: payoff")
    assert 1.0 < before < 3.0


def test_what_cannot_be_taught_is_said():
    elsewhere = replace(TAUGHT, model="no_such_model")
    with pytest.raises(DataError, match="no_such_model"):
        elsewhere.settings("coevo/kuhn_poker-v0", {"prompt_style": "terse"}, 0)
