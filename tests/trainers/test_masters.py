"""What an optimiser moves where that is not the model itself."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.learners.masters import Float32, Masters
from coevo.trainers.loop import train

PLAIN = {"ema": 0.0, "magnet": None, "loss.regularise": (), "schedules": {}}


def stepped(kind, steps=100):
    """Move one weight of 1 in bfloat16 by a hundred steps of 0.0001."""
    model = nn.Linear(1, 1, bias=False, dtype=torch.bfloat16)
    nn.init.ones_(model.weight)
    masters = kind(model)
    optimizer = torch.optim.SGD(masters.parameters, lr=1e-4)
    for _ in range(steps):
        for _ in range(2):  # two micro-batches
            (model(torch.ones(1, 1, dtype=torch.bfloat16)) / 2).sum().backward()
        optimizer.step()
        masters.follow()
        optimizer.zero_grad()
    return masters, model.weight.item()


def test_small_steps_add_up_in_float32_and_are_lost_in_half_precision():
    masters, weight = stepped(Float32)
    assert masters.parameters[0].item() == pytest.approx(0.99, abs=1e-5)
    assert weight == pytest.approx(0.99, abs=0.004)
    assert stepped(Masters)[1] == 1.0


def test_a_learner_goes_on_from_weights_that_were_written_into_its_model(config, folder):
    run = loop.start(config("mars", PLAIN, dtype="bfloat16"), folder(config("mars", PLAIN)))
    (learner,) = run.learners.values()
    with torch.no_grad():
        for weight in learner.model.parameters():
            weight.fill_(0.5)
    learner.restart()
    learner.masters.follow()
    assert all((weight == 0.5).all() for weight in learner.model.parameters())


def tensors(folder):
    last = checkpoint.latest(folder.checkpoints) / "policy"
    return {
        f"{path.name}/{name}": tensor
        for path in sorted(last.iterdir())
        if path.suffix in (".safetensors", ".tensors")
        for name, tensor in load_file(path).items()
    }


def test_a_run_in_bfloat16_keeps_its_masters_and_goes_on_from_them(config, folder):
    given = config("mars", PLAIN, steps=4, dtype="bfloat16")
    whole, halves = folder(given, "whole"), folder(given, "halves")
    train(given, whole)
    for steps in (2, 4):
        train(replace(given, steps=steps), halves)
    found, expected = tensors(halves), tensors(whole)
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    masters = [t for n, t in expected.items() if n.startswith("masters")]
    assert {t.dtype for t in masters} == {torch.float32}
    weights = {t.dtype for n, t in expected.items() if n.startswith("model.safetensors")}
    assert weights == {torch.bfloat16}
    assert any(not torch.equal(t, t.bfloat16().float()) for t in masters)


def test_averages_in_half_precision_are_refused(config):
    with pytest.raises(ConfigError, match=r"dtype='bfloat16' and ema=0.9"):
        config("mars", {}, dtype="bfloat16")


def test_fused_adamw_takes_the_same_steps(config, folder):
    found = []
    for fused in (False, True):
        given = config("mars", {**PLAIN, "optim.fused": fused}, steps=3)
        made = folder(given, f"fused_{fused}")
        train(given, made)
        found.append(tensors(made))
    gaps = [float((found[0][n] - found[1][n]).abs().max()) for n in found[0]]
    assert max(gaps) < 1e-5
