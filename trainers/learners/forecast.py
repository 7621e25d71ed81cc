"""What an update will cost, said before it is computed: seconds and memory.

The first batch says how many tokens there are to compute; a few sequences of it, computed once with
their gradient, how long a token takes and what it keeps; the optimiser moves a small tensor once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from coevo.agents.engines.scoring import micro_batches
from coevo.trainers.batch import Batch
from coevo.trainers.learners.learner import Learner
from coevo.trainers.learners.room import estimate, held

FORWARD = 1 / 3
"""What a pass without gradient costs of one with it."""
TRIED = {"cpu": 96, "cuda": 2048}
"""Tokens of the trial, at least, where there are so many: fewer would be slower than most."""
PROBED = 2**22
"""Elements of the tensor that the optimiser is timed on."""


@dataclass(frozen=True)
class Forecast:
    """What the optimiser steps of an update will take."""

    seconds: float
    tokens: int
    """Tokens that are computed for a gradient, each shared beginning once."""
    repeated: int
    """Tokens of all replies with their prompts, as if nothing were shared."""
    memory: Mapping[str, int]
    """Bytes by part: weights and their copies, gradients, moments, passes."""


def forecast(learners: Mapping[str, Learner], batch: Batch, *, advantages: bool = True) -> Forecast:
    """Return what learning from the first batch of a run will cost.

    Args:
        learners: parameter set -> learner.
        batch: of the first update.
        advantages: whether it has advantages, so that what has none is not computed.
    """
    found = [
        _of_learner(learner, own, advantages)
        for name, learner in learners.items()
        if len(own := batch.written_by(name)[0])
    ]
    every = learners.values()
    memory = held(every)
    for part, size in estimate(every).items():
        memory[part] = memory.get(part, 0) + size
    memory["passes"] = max((f.memory["passes"] for f in found), default=0)
    return Forecast(
        sum(f.seconds for f in found),
        sum(f.tokens for f in found),
        sum(f.repeated for f in found),
        {part: size for part, size in memory.items() if size},
    )


def _of_learner(learner: Learner, batch: Batch, advantages: bool) -> Forecast:
    objective, passes, optim = learner.objective(batch), learner.passes, learner.optim
    every = range(objective.units)
    spans = list(objective.with_gradient(every) if advantages else every)
    repeated = int(torch.bincount(batch.span_C, minlength=objective.units) @ _lengths(batch))
    if not spans:
        return Forecast(0.0, 0, repeated, {"passes": 0})
    lengths = _rows(learner, batch, spans)
    seconds, kept = _trial(learner, batch, spans)
    read = FORWARD * (
        (learner.magnet is not None) + passes.recompute + bool(objective.spec.measuring)
    )
    steps = optim.epochs * min(optim.minibatches, len(spans))
    return Forecast(
        optim.epochs * sum(lengths) * seconds * (1 + read) + steps * _step_seconds(learner),
        sum(lengths),
        repeated,
        {"passes": int(kept * _widest(lengths, passes.token_budget))},
    )


def _lengths(batch: Batch) -> Tensor:
    return torch.tensor([len(span.ids) for span in batch.spans])


def _widest(lengths: Sequence[int], budget: int) -> int:
    """Return the tokens of the largest micro-batch, padding included."""
    return max(len(rows) * lengths[rows[0]] for rows in micro_batches(lengths, budget))


def _rows(learner: Learner, batch: Batch, spans: Sequence[int]) -> list[int]:
    """Return the lengths of the rows in which sequences are computed."""
    given = [batch.spans[s] for s in spans]
    return [r.length for r in learner.agent.weights.in_rows(given, learner.passes.token_budget)]


def _trial(learner: Learner, batch: Batch, spans: Sequence[int]) -> tuple[float, float]:
    """Compute a few sequences with their gradient, which is thrown away.

    Returns:
        Seconds of a token, and the bytes that it keeps until the gradient is computed.
    """
    count, device = 1, learner.device.type
    while count < len(spans) and sum(_rows(learner, batch, spans[:count])) < TRIED[device]:
        count *= 2
    part = next(learner.passes.micro_batches(batch, spans[:count]))
    tokens = sum(_rows(learner, batch, part.spans))
    own = {p.data_ptr() for p in learner.model.parameters()}
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    moved = [p for p in learner.model.parameters() if p.requires_grad]
    for _ in range(1 if device == "cpu" else 2):  # the first pass on a GPU prepares its kernels
        kept.clear()
        _wait(learner)
        began = time.perf_counter()
        with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
            logp = learner.passes.score(batch, part).logp_N().sum()
        torch.autograd.grad(logp, moved, allow_unused=True)
        _wait(learner)
    return (time.perf_counter() - began) / tokens, sum(kept.values()) / tokens


def _step_seconds(learner: Learner) -> float:
    """Return how long an optimiser step takes."""
    moved = sum(p.numel() for group in learner.optimizer.param_groups for p in group["params"])
    probe = torch.zeros(min(PROBED, moved), device=learner.device, requires_grad=True)
    probe.grad = torch.zeros_like(probe)
    optimizer = type(learner.optimizer)([probe], **_settings(learner.optimizer))
    optimizer.step()  # makes its moments
    _wait(learner)
    began = time.perf_counter()
    optimizer.step()
    _wait(learner)
    return (time.perf_counter() - began) * moved / max(probe.numel(), 1)


def _settings(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    known = ("lr", "betas", "weight_decay", "fused")
    return {k: optimizer.defaults[k] for k in known if k in optimizer.defaults}


def _wait(learner: Learner) -> None:
    """Wait for an accelerator to finish what it was given."""
    if learner.device.type == "cuda":
        torch.cuda.synchronize()
