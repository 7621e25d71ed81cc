"""AdamW with moments of 8 bits: smaller, near AdamW, and in checkpoints."""

from dataclasses import replace

import pytest
import torch

from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint, loop, ranks
from coevo.trainers.algorithm import OptimConfig
from coevo.trainers.learners import eight_bit, room
from coevo.trainers.run_folder import RunFolder

SMALL = {"optim.optimiser": "adamw8bit", "optim.lr": 1e-3}


@pytest.fixture
def torchao(monkeypatch):
    """Take steps as they are written: compiling them takes a minute and changes last digits."""
    pytest.importorskip("torchao.optim")
    monkeypatch.setattr(torch, "compile", lambda step, **named: step)


def weights(run):
    return torch.cat([p.detach().flatten() for p in run.learners["policy"].model.parameters()])


@pytest.fixture
def started(config, tmp_path):
    """Return a function that starts a run of the shipped model in a folder."""

    def make(name, steps, changes=SMALL):
        given = config("grpo", changes, steps=steps, model="starter")
        return given, RunFolder(tmp_path / name)

    return make


def test_moments_are_small_and_moves_are_those_of_adamw(started, torchao):
    run = loop.train(*started("small", 2))
    learner = run.learners["policy"]
    sizes = {p: eight_bit.moments_size(p) for p in learner.masters.parameters}
    held = {p: bytes_of(learner.optimizer.state[p]) for p in sizes}
    assert held == sizes
    assert sum(held.values()) < 0.27 * 8 * sum(p.numel() for p in sizes)
    assert room.estimate([learner])["moments of AdamW"] == 0
    plain = started("plain", 2, {"optim.lr": 1e-3})
    start = weights(loop.start(*plain))
    moved, wanted = weights(run) - start, weights(loop.train(*plain)) - start
    assert torch.cosine_similarity(moved, wanted, 0) > 0.9  # 0.953, seen first


def bytes_of(moments):
    parts = [eight_bit.parts_of(moments[name]) for name in ("exp_avg", "exp_avg_sq")]
    kept = [part for own in parts for ending, part in own.items() if ending != ".qmap"]
    return sum(part.numel() * part.element_size() for part in kept)


def test_a_resumed_run_ends_as_an_uninterrupted_one(started, torchao):
    whole = loop.train(*started("whole", 4))
    given, made = started("cut", 2)
    loop.train(given, made)
    checkpoint.verify(checkpoint.latest(made.checkpoints))
    again = loop.train(replace(given, steps=4), made)
    assert again.progress.step == 4
    assert torch.equal(weights(again), weights(whole))


def test_ranks_and_a_second_way_of_stepping_are_refused(monkeypatch):
    with pytest.raises(ConfigError, match="fused=True is of adamw"):
        OptimConfig(optimiser="adamw8bit", fused=True)
    monkeypatch.setattr(ranks, "count", lambda: 2)
    with pytest.raises(ConfigError, match="contradict each other"):
        eight_bit.adamw8bit([])
