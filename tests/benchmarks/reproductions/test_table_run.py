"""Runs of reproductions: what a started run is, and that nothing of it stays."""

from coevo.agents.table import TabularPolicy
from coevo.benchmarks.reproductions import arms
from coevo.benchmarks.reproductions.table_run import started
from coevo.trainers.algorithms import algorithm
from coevo.trainers.loop import updates


def test_a_started_run_is_the_configured_one_and_its_folder_goes():
    record = algorithm("reinforce", changes={"collect.episodes": 4})
    with started(record, arms.ID, {"payoffs": (0.0, 1.0, 2.0)}, seed=3, steps=2) as run:
        assert isinstance(run.learners["policy"].agent, TabularPolicy)
        assert (run.config.seed, run.config.algorithm.name) == (3, "reinforce")
        assert run.config.env_options == {"prompt_style": "terse", "payoffs": (0.0, 1.0, 2.0)}
        assert [done.step for done in updates(run)] == [1, 2]
        folder = run.folder.path
        assert folder.exists()
    assert not folder.exists()


def test_what_is_usual_for_a_table_can_be_changed():
    full = {"prompt_style": "full"}
    with started(algorithm("grpo"), arms.ID, full, steps=1, checkpoint_every=1) as run:
        assert run.config.checkpoint_every == 1
        assert run.config.env_options["prompt_style"] == "full"
