"""Tuned rewards: what is tried, where weights move, and what the run then learns by."""

import json

import pytest

from coevo.benchmarks.reproductions.claims import barfi_weights as barfi
from coevo.benchmarks.reproductions.worlds import BANDIT
from coevo.envs.core.errors import CoevoError
from coevo.trainers import loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps.inner_run import Fitness, Trial


def start(path, components=("payoff", "noted_beside"), steps=4):
    changes = {
        **barfi.CLAIM.changes,
        "collect.episodes": 8,
        "cycle.tune_rewards.components": components,
        "cycle.tune_rewards.changes": {**barfi.INNER, "algorithm.collect.episodes": 8},
        "cycle.tune_rewards.every": 2,
        "cycle.tune_rewards.steps": 2,
        "cycle.tune_rewards.tasks": 16,
    }
    given = TrainConfig(
        algorithm=algorithm("barfi", None, changes),
        env=BANDIT,
        env_options={"prompt_style": "terse", **barfi._world(barfi.MISLEADS)},
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


def test_weights_go_where_inner_runs_earn_more_and_stay_in_their_bounds(tmp_path, monkeypatch):
    seen = []

    def tried(self, ctx, changes, name):
        (weights,) = changes.values()
        seen.append((name, weights))
        return Fitness(4 * weights["payoff"] - weights["noted_beside"])

    monkeypatch.setattr(Trial, "tried", tried)
    run = start(tmp_path / "run")
    log = [done.metrics for done in loop.updates(run)]
    assert [m["weight/payoff"] for m in log] == [2.0] * 4, "1 + 4 is beyond the bound"
    assert [m["weight/noted_beside"] for m in log] == pytest.approx([0.0, 0.0, -1.0, -1.0])
    assert len(seen) == 8, "two sides of two weights, twice"
    assert seen[0] == ("000000_payoff_down", {"payoff": 0.75, "noted_beside": 1.0})
    (newest,) = run.archive.living("formula")
    assert [a.id for a in run.archive.lineage(newest.id)] == [f"formula-{i}" for i in range(3)]
    assert run.archive["formula-0"].stats == {"slope/payoff": 4.0, "slope/noted_beside": -1.0}


def test_inner_runs_differ_in_one_weight_and_are_counted(tmp_path):
    run = start(tmp_path / "run", steps=1)
    loop.finish(run)
    folders = sorted((run.folder.path / "inner").iterdir())
    configs = [RunFolder(f).config() for f in folders]
    assert [c.algorithm.advantage.reward_weights for c in configs] == [
        {"payoff": 1.0, "noted_beside": 0.75},
        {"payoff": 1.0, "noted_beside": 1.25},
        {"payoff": 0.75, "noted_beside": 1.0},
        {"payoff": 1.25, "noted_beside": 1.0},
    ]
    assert len({c.seed for c in configs}) == 1
    inner = sum(json.loads((f / "summary.json").read_text())["tokens"] for f in folders)
    assert inner == 4 * (2 * 8 + 16) and run.progress.tokens == inner + 8


def test_a_reward_that_nobody_pays_is_named(tmp_path):
    run = start(tmp_path / "run", components=("payof",))
    with pytest.raises(CoevoError, match=r"cycle.tune_rewards.components 'payof'; did you mean"):
        loop.update(run)
