"""Imitation of transcripts as a run that the loop drives: logged, limited, and continued.

An update is twenty optimiser steps; every pass has an order of its own, which the seed decides. The
order is made again when a run goes on, so that it ends where one in a piece does, if no clock ends
it. `tokens` counts what was read.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import LlamaForCausalLM

from coevo.agents.agent import Agent
from coevo.agents.engines.scoring import micro_batches
from coevo.agents.models import manifest
from coevo.benchmarks.starter.examples import Encoded, SeedConfig, loss_of
from coevo.benchmarks.starter.muon import Muon
from coevo.envs.core.errors import legible
from coevo.trainers import checkpoint, run_state
from coevo.trainers.loop import drive
from coevo.trainers.measuring import Outcome
from coevo.trainers.progress import Progress
from coevo.trainers.run_folder import RunFolder

STEPS = 20
"""Optimiser steps of an update."""
Report = Callable[[float, float], None]
"""Told after every update: share done, mean loss."""


@dataclass(frozen=True)
class Limits:
    """What ends an imitation, and how often it is saved."""

    budget_seconds: float
    budget_tokens: int
    """Tokens read, prompts included."""
    steps: None = None
    budget_turns: None = None
    checkpoint_every: int = 10
    probe_every: int = 1
    probe_points: int = 0
    episodes_logged: int = 0


class ImitationRun:
    """A model that imitates examples, as it was saved last if it was saved before.

    Args:
        model: trained in place.
        data: examples in tokens.
        settings: passes, minutes, rates and batch size.
        folder: of this training alone.
        about: what else makes it another training, as plain data.

    Raises:
        ConfigError: the folder holds another training.
        DataError: its newest checkpoint is damaged.
    """

    def __init__(
        self,
        model: LlamaForCausalLM,
        data: Sequence[Encoded],
        settings: SeedConfig,
        folder: RunFolder,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, self.settings, self.folder = model, settings, folder
        read = sum(len(e.ids) for e in data)
        self.config = Limits(60 * settings.minutes, int(settings.epochs * read))
        self.optimizers = make_optimizers(model, settings)
        self.progress, self.moving = Progress(), False
        folder.claim({**(about or {}), **vars(settings), "examples": len(data), "tokens": read})
        newest = checkpoint.latest(folder.checkpoints)
        if newest is not None:
            self._load(newest)
        rng = np.random.default_rng(settings.seed)
        taken = self.progress.step * STEPS
        self._batches = itertools.islice(batches(data, settings.batch_tokens, rng), taken, None)

    def policies(self) -> Mapping[str, Agent]:
        """Return none: nobody plays while transcripts are imitated."""
        return {}

    def update(self) -> Outcome:
        """Take the optimiser steps of one update, fewer at the end."""
        self.moving, losses, rate = True, [], 0.0
        self.model.train()
        began, before = time.monotonic(), self.progress
        for batch in itertools.islice(self._batches, STEPS):
            now = self.progress.plus(seconds=time.monotonic() - began)
            if (share := now.share(self.config)) >= 1:
                break
            rate = min(1.0, share / 0.02) * (0.02 + 0.98 * (1 + math.cos(math.pi * share)) / 2)
            losses.append(self._step(batch, rate))
            self.progress = self.progress.plus(tokens=sum(len(e.ids) for e in batch))
        self.model.eval()
        self.moving = False
        read, seconds = self.progress.tokens - before.tokens, time.monotonic() - began
        loss = sum(losses) / max(len(losses), 1)
        return {"loss": loss, "rate": rate, "tokens": read, "seconds": seconds}, []

    def _step(self, batch: Sequence[Encoded], rate: float) -> float:
        loss = loss_of(self.model, batch, self.settings)
        self.model.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * rate
            optimizer.step()
        return float(loss.detach())

    def save(self) -> None:
        """Write a checkpoint and drop the one before."""
        checkpoint.write(self.folder.checkpoints, self.progress.step, self._fill, 1)

    def _fill(self, work: Path) -> None:
        work.mkdir(parents=True)
        save_file(run_state.own_memory(self.model.state_dict()), work / "model.tensors")
        for number, optimizer in enumerate(self.optimizers):
            save_file(run_state.optimizer_tensors(optimizer), work / f"optimizer_{number}.tensors")
        data = {"schema": manifest.SCHEMA, **vars(self.progress), "learners": [], "state": {}}
        (work / "progress.json").write_text(json.dumps(data, indent=2), encoding="utf-8")

    def _load(self, newest: Path) -> None:
        checkpoint.verify(newest)
        self.progress = run_state.recorded(newest).progress
        with legible(newest):
            self.model.load_state_dict(load_file(newest / "model.tensors"))
            for number, optimizer in enumerate(self.optimizers):
                tensors = load_file(newest / f"optimizer_{number}.tensors")
                run_state.load_optimizer(optimizer, tensors)


def imitate(
    model: LlamaForCausalLM,
    data: Sequence[Encoded],
    settings: SeedConfig,
    folder: RunFolder,
    report: Report = lambda share, loss: None,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Imitate the examples until the passes or the minutes are used up; see `ImitationRun`."""
    run = ImitationRun(model, data, settings, folder, about)
    for done in drive(run, run.update):
        report(done.done, done.metrics["loss"])


def make_optimizers(
    model: LlamaForCausalLM, settings: SeedConfig
) -> tuple[torch.optim.Optimizer, ...]:
    """Return Muon for the hidden matrices, AdamW for embeddings and norms."""
    hidden = [p for p in model.model.layers.parameters() if p.ndim == 2]
    ids = {id(p) for p in hidden}
    rest = [{"params": [p for p in model.parameters() if id(p) not in ids], "peak": settings.lr}]
    matrices = [{"params": hidden, "peak": settings.muon_lr}]
    return (
        Muon(matrices, lr=settings.muon_lr, weight_decay=0.01),
        torch.optim.AdamW(rest, lr=settings.lr, betas=(0.9, 0.98), weight_decay=0.01),
    )


def batches(
    data: Sequence[Encoded], budget: int, rng: np.random.Generator
) -> Iterator[list[Encoded]]:
    """Return batches of similar lengths without end, in random order."""
    while True:
        order = rng.permutation(len(data))
        for chunk in np.array_split(order, max(1, len(order) // 8192)):
            parts = list(micro_batches([len(data[i].ids) for i in chunk], budget))
            for p in rng.permutation(len(parts)):
                yield [data[int(chunk[i])] for i in parts[p]]
