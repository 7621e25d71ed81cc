"""Arms that are trained: what a run is, that nothing of it stays, and what may be asked of it."""

import pytest

from coevo.agents.table import TabularPolicy
from coevo.benchmarks.reproductions.run import Arm, World, prepared, trained
from coevo.benchmarks.reproductions.worlds import BANDIT

WORLD = World(BANDIT, 2, {"payoffs": ((0.0, 1.0, 2.0),)}, watch=lambda run, done: done.step)
ARM = Arm("reinforce", {"collect.episodes": 4})


def test_a_trained_run_is_the_configured_one_and_its_folder_goes():
    with trained(WORLD, ARM, 3) as end:
        run = end.run
        assert isinstance(run.learners["policy"].agent, TabularPolicy)
        assert (run.config.seed, run.config.algorithm.name) == (3, "reinforce")
        assert run.config.env_options == {"prompt_style": "terse", "payoffs": ((0.0, 1.0, 2.0),)}
        assert end.seen == [1, 2] and len(end.log) == 2
        assert end.last(2, "tokens") == pytest.approx(
            (end.first("tokens") + end.last(1, "tokens")) / 2
        )
        folder = run.folder.path
        assert folder.exists()
    assert not folder.exists()


def test_an_arm_comes_before_its_world_and_its_claim():
    arm = Arm("grpo", {"optim.lr": 1.0}, {"prompt_style": "full"}, steps=1)
    world = World(BANDIT, 5, settings={"checkpoint_every": 1})
    config, _ = prepared(world, arm, 0, {"optim.lr": 2.0, "collect.episodes": 8})
    assert config.checkpoint_every == 1 and config.steps == 1
    assert config.env_options["prompt_style"] == "full"
    assert (config.algorithm.optim.lr, config.algorithm.collect.episodes) == (1.0, 8)


def test_no_steps_train_nothing():
    with trained(WORLD, ARM, 0, steps=0) as end:
        assert end.log == [] and end.run.progress.step == 0
