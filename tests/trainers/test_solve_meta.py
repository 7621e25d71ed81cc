"""Meta-strategies of a pool: who plays whom, what is measured, and how it weighs opponents."""

import numpy as np
import pytest

from coevo.agents.population import MetaStrategy
from coevo.agents.population.pool import Standing
from coevo.benchmarks.reproductions.run import SGD
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps.solve_meta import equilibrium

SMALL = {**SGD, "collect.episodes": 8, "population.every": 1, "cycle.solve_meta.tasks": 8}


def start(path, changes=None, steps=3):
    given = TrainConfig(
        algorithm=algorithm("psro", None, {**SMALL, "optim.lr": 3.0, **(changes or {})}),
        env="coevo/kuhn_poker-v0",
        env_options={"prompt_style": "terse"},
        model="table",
        steps=steps,
        checkpoint_every=1,
        device="cpu",
        threads=1,
    )
    folder = RunFolder(path)
    if not (path / "config.yaml").exists():
        folder.create(given)
    return loop.start(given, folder)


def test_past_selves_are_artifacts_whose_payoffs_are_of_a_zero_sum_game(tmp_path):
    run = start(tmp_path / "run")
    loop.finish(run)
    start_, one, two = run.archive.living("snapshot")
    names = [a.payload["of"] for a in (start_, one, two)]
    assert names == ["past000000", "past000001", "past000002"]
    assert two.parents == (one.id,)
    assert one.stats[two.id] == -two.stats[one.id]
    assert one.stats[one.id] == two.stats[two.id] == 0, "of every deal both seats are counted"
    assert sum(a.weight for a in (start_, one, two)) == pytest.approx(1)
    assert run.population.weights == {a.payload["of"]: a.weight for a in (start_, one, two)}
    again = start(tmp_path / "run")
    assert again.population.weights == run.population.weights
    assert again.archive.state_dict() == run.archive.state_dict()


def test_opponents_are_drawn_by_the_weights():
    rng = np.random.default_rng(0)
    pool = [Standing(0.5, w) for w in (0.0, 0.25, 0.75)]
    drawn = np.bincount([MetaStrategy()(pool, rng) for _ in range(400)], minlength=3) / 400
    assert drawn == pytest.approx([0.0, 0.25, 0.75], abs=0.06)
    even = [MetaStrategy()([Standing(0.5, 0.0)] * 2, rng) for _ in range(40)]
    assert set(even) == {0, 1}, "before the first table"


def test_a_past_self_that_leaves_the_pool_leaves_the_table(tmp_path):
    run = start(tmp_path / "run", {"population.size": 1})
    loop.finish(run)
    left = [a.payload["of"] for a in run.archive.living("snapshot")]
    assert left == ["past000000", "past000002"], "the start stays"
    assert set(run.population.weights) >= set(left)


def test_the_learner_starts_anew_behind_every_past_self(tmp_path):
    seen = {}
    for anew in (True, False):
        run = start(tmp_path / str(anew), {"cycle.solve_meta.anew": anew}, steps=1)
        loop.finish(run)
        ctx = loop.context_of(run)
        learner = run.learners["policy"]
        moved = learner.model.logits_RA.abs().max() > 0
        run.config.algorithm.cycle[0](ctx)
        seen[anew] = (bool(moved), bool(learner.model.logits_RA.any()))
        assert run.population.start.model.logits_RA.any().item() is False
    assert seen == {True: (True, False), False: (True, True)}


def test_a_population_without_past_selves_is_refused(tmp_path):
    run = start(tmp_path / "run", {"population": {"name": "shared"}})
    with pytest.raises(ConfigError, match="weighs the past selves of one learner"):
        loop.update(run)


def test_variance_is_worth_nothing_where_every_strategy_bears_the_same():
    pennies = np.array([[1.0, -1.0], [-1.0, 1.0]])
    zero_sum = np.block([[np.zeros((2, 2)), pennies], [-pennies.T, np.zeros((2, 2))]])
    for aversion in (0.0, 1.0):
        found = equilibrium(zero_sum, aversion)
        assert found[0] == pytest.approx(found[1], abs=0.05)
