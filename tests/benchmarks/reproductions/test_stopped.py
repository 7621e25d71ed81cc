"""Arms of claims that are stopped in the middle go on as if nothing had happened."""

from dataclasses import replace

import pytest
import torch

from coevo.benchmarks.reproductions import claim
from coevo.benchmarks.reproductions.run import learnt, prepared
from coevo.trainers.loop import finish, start, updates
from coevo.trainers.run_folder import RunFolder

AT, STEPS = 2, 4
SMALL = {"collect.episodes": 8}
KEPT = {**SMALL, "population.every": 1}
"""A past self is kept before the stop, and sits in a seat after it."""
RUNS = {
    "aa_ipd": ("aligned", KEPT, {}),
    "aa_split": ("aligned", KEPT, {}),
    "comas_tabular": ("good", {**SMALL, "optim.lr": 8.0}, {}),
    "dr_mas_spikes": ("team_own", SMALL, {"hard": 0.5}),
    "ssp_gate": ("gated", SMALL, {}),
}


@pytest.mark.parametrize("name", [*RUNS, "dr_mas_spikes, bandits"])
def test_a_stopped_run_ends_like_one_that_was_not(name, tmp_path):
    name, _, bandits = name.partition(", ")
    arm, changes, options = ("bandits_own", {}, {}) if bandits else RUNS[name]
    arm = claim(name).arms[arm]
    arm = replace(arm, changes={**arm.changes, **changes}, options={**arm.options, **options})

    def begun(folder):
        config, maker = prepared(claim(name).world, arm, 3, claim(name).changes, STEPS)
        folder = RunFolder(tmp_path / folder)
        folder.create(config)
        return start(config, folder, maker)

    whole, run = begun("whole"), begun("stopped")
    finish(whole)
    wanted = tables(whole)
    for done in (going := updates(run)):
        if done.step == AT:
            run.save()
            going.close()
    _, maker = prepared(claim(name).world, arm, 3, claim(name).changes, STEPS)
    again = start(run.config, run.folder, maker)
    assert again.progress.step == AT
    finish(again)
    found = tables(again)
    assert found.keys() == wanted.keys()
    for key, odds in wanted.items():
        assert torch.equal(found[key], odds), key


def tables(run):
    return {
        (name, prompt): odds
        for name, learner in run.learners.items()
        for prompt, odds in learnt(learner.agent).items()
    }
