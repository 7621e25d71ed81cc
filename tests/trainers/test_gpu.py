"""Promise: what holds on a CPU holds on an accelerator, and runs move from one to the other."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.agents.agent import Request
from coevo.agents.load import load_agent
from coevo.agents.sampling import SamplingConfig
from coevo.envs import make
from coevo.trainers import checkpoint, loop
from coevo.trainers.build import build
from coevo.trainers.learners import passes

CUDA = pytest.param("cuda", marks=pytest.mark.gpu)


def modules(run):
    """Return everything with weights: output, iterate, head, magnet, past selves."""
    found = {}
    for name, learner in run.learners.items():
        parts = {"model": learner.model, "output": learner.output, **learner.models()}
        found |= {f"{name}.{part}": module for part, module in parts.items()}
    return found | {n: agent.model for n, agent in run.population.snapshots().items()}


def weights(run):
    return {
        f"{name}.{key}": tensor.cpu()
        for name, module in modules(run).items()
        for key, tensor in module.state_dict().items()
    }


def moments(run):
    """Return what the optimisers remember."""
    return {
        f"{name}.{i}.{key}": tensor.cpu()
        for name, learner in run.learners.items()
        for i, slots in learner.optimizer.state_dict()["state"].items()
        for key, tensor in slots.items()
    }


def differences(one, two):
    assert one.keys() == two.keys()
    return [name for name in one if not torch.equal(one[name], two[name])]


def requests(style="terse"):
    """Return what the first seat is asked after deals of every kind."""
    env = make("coevo/leduc_poker-v0", prompt_style=style)
    asked = []
    for seed in range(6):
        env.reset(seed=seed)
        seat = env.awaiting[0]
        rng = np.random.default_rng(seed)
        asked.append(Request(seat, env.chat(seat), env.infos[seat], rng))
    return asked


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["mars", "ppo", "league"])
def test_three_updates(config, folder, name):
    given = config(name, steps=3, device="cuda")
    made = folder(given)
    before = weights(loop.start(given, made))
    run = loop.train(given, made)
    lines = made.read_metrics()
    assert len(lines) == 3
    for line in lines:
        numbers = {k: v for k, v in line.items() if isinstance(v, float)}
        assert [k for k, v in numbers.items() if not math.isfinite(v)] == []
        assert numbers["grad_norm"] > 0
    places = {p.device.type for module in modules(run).values() for p in module.parameters()}
    assert places == {"cuda"}
    assert differences(
        {k: v for k, v in before.items() if k.startswith("policy.model")},
        {k: v for k, v in weights(run).items() if k.startswith("policy.model")},
    )


@pytest.fixture
def in_bf16(monkeypatch):
    """Let a CPU compute in the precision that an accelerator uses of its own accord."""

    def switch(device):
        if device == "cpu":
            monkeypatch.setattr(passes, "_precision", lambda model: torch.bfloat16)

    return switch


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("name", ["mars", "ppo", "league"])
def test_losses_in_bf16_are_finite_and_near_those_in_float32(
    config, folder, in_bf16, monkeypatch, name, device
):
    run = loop.start(config(name, device=device), folder(config(name)))
    collected = run.collector.collect(0)
    batch = build(collected.episodes, collected.groups, run.learners)
    learner, rows = run.learners["policy"], batch.written_by("policy")[0]
    with monkeypatch.context() as exact:
        exact.setattr(passes, "_precision", lambda model: None)
        precise = learner.passes.logp(rows)
    in_bf16(device)
    rough = learner.passes.logp(rows)
    assert rough.dtype == torch.float32
    assert not torch.equal(rough, precise)
    assert torch.allclose(rough, precise, atol=0.05)
    stats = loop.update(run)[0]
    numbers = {k: float(v) for k, v in stats.items()}
    assert [k for k, v in numbers.items() if not math.isfinite(v)] == []
    assert {p.dtype for p in learner.model.parameters()} == {torch.float32}


@pytest.mark.gpu
@pytest.mark.parametrize("guided", ["none", "choice"])
@pytest.mark.parametrize("style", ["terse", "full"])
def test_greedy_replies_are_those_of_the_cpu(tiny_model_dir, style, guided):
    drawn = SamplingConfig(temperature=0.0, guided=guided, max_new_tokens=12)
    asked = requests(style)
    cpu, gpu = (
        load_agent(str(tiny_model_dir), sampling=drawn, device=device) for device in ("cpu", "cuda")
    )
    assert gpu.model.device.type == "cuda"
    for one, other in zip(cpu.act(asked), gpu.act(asked), strict=True):
        assert (one.text, one.token_ids) == (other.text, other.token_ids)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    for one, other in zip(cpu.move_logprobs(asked), gpu.move_logprobs(asked), strict=True):
        assert one == pytest.approx(other, rel=1e-3)


@pytest.mark.gpu
def test_sampling_repeats_itself(tiny_model_dir):
    drawn = SamplingConfig(max_new_tokens=12)
    agent = load_agent(str(tiny_model_dir), sampling=drawn, device="cuda")
    said = []
    for seed in (1, 1, 2):
        agent.reseed(seed)
        said.append([r.token_ids for r in agent.act(requests())])
    assert said[0] == said[1] != said[2]


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["mars", "ppo", "league"])
@pytest.mark.parametrize(("first", "second"), [("cuda", "cpu"), ("cpu", "cuda")])
def test_a_run_moves_between_devices(config, folder, name, first, second):
    given = config(name, steps=2, device=first)
    made = folder(given)
    trained = loop.train(given, made)
    checkpoint.verify(checkpoint.latest(made.checkpoints))
    moved = loop.start(replace(given, steps=4, device=second), made)
    assert {p.device.type for m in modules(moved).values() for p in m.parameters()} == {second}
    assert differences(weights(trained), weights(moved)) == []
    assert differences(moments(trained), moments(moved)) == []
    assert moved.progress == trained.progress
    finished = loop.train(replace(given, steps=4, device=second), made)
    assert finished.progress.step == 4
    assert [line["step"] for line in made.read_metrics()] == [1, 2, 3, 4]
