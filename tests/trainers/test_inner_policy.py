"""Policies of inner layers: the last one is the whole policy, and layers above do not move."""

import pytest
import torch

from coevo.agents.engines.scoring import InnerLayer
from coevo.agents.sampling import SamplingConfig
from coevo.agents.table import Table, TabularPolicy
from coevo.envs.core.errors import ConfigError
from coevo.trainers.algorithms import algorithm
from coevo.trainers.loop import start, updates
from coevo.trainers.run_folder import RunFolder

ONE = {"optim.warmup": 0, "collect.episodes": 16, "schedules": {}}
LOSS = "cycle.update.losses.inner_policy"


@pytest.fixture
def run(config, tmp_path):
    """Make a run of `bupo` with changes, or of another algorithm."""

    def make(name, changes):
        made = config(name, changes, steps=1)
        folder = RunFolder(tmp_path / f"{name}{len(list(tmp_path.iterdir()))}")
        folder.create(made)
        return start(made, folder)

    return make


def moved(run):
    """Train one update; return what every weight moved by."""
    (learner,) = run.learners.values()
    before = {name: p.detach().clone() for name, p in learner.model.named_parameters()}
    list(updates(run))
    return {n: (p.detach() - before[n]) for n, p in learner.model.named_parameters()}


def layers(run):
    (learner,) = run.learners.values()
    return learner.model.config.num_hidden_layers


def test_the_last_layer_with_the_last_norm_is_the_whole_policy(run):
    whole = run("bupo", {**ONE, f"{LOSS}.layer": 0})
    last = run("bupo", {**ONE, f"{LOSS}.layer": layers(whole), f"{LOSS}.norm": "final"})
    one, other = moved(whole), moved(last)
    assert any(bool(step.any()) for step in one.values())
    for name, step in one.items():
        assert torch.allclose(step, other[name], atol=1e-7), name


@pytest.mark.parametrize("norm", ["none", "final"])
def test_layers_above_the_one_that_speaks_get_no_gradient(run, norm):
    found = moved(run("bupo", {**ONE, f"{LOSS}.layer": 1, f"{LOSS}.norm": norm}))
    above = [n for n in found if ".layers." in n and ".layers.0." not in n]
    below = [n for n in found if ".layers.0." in n]
    assert above and all(not found[n].any() for n in above)
    assert any(found[n].any() for n in below)


def test_the_whole_policy_learns_after_the_schedule(config):
    record = algorithm("bupo")
    losses = [record.after(step, 0.0).cycle[3].losses[0] for step in (0, 19, 20, 100)]
    assert [loss.layer for loss in losses] == [1, 1, 0, 0]
    assert losses[-1].inner is None and losses[0].inner.layer == 1


def test_what_cannot_be_is_refused(run):
    with pytest.raises(ConfigError, match="inner_policy takes one step"):
        algorithm("bupo", None, {"optim.epochs": 2})
    made = run("bupo", {**ONE, f"{LOSS}.layer": 99})
    with pytest.raises(ConfigError, match="layer=99 must be below"):
        moved(made)
    table = TabularPolicy(Table(2, 2)).weights
    with pytest.raises(ConfigError, match="a table has no layer 1"):
        table.score([], SamplingConfig(), inner=InnerLayer(1))
