"""Whether a run fits into memory, estimated before it starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import torch
from torch import nn

from coevo.envs.core.errors import ConfigError
from coevo.trainers.learners.eight_bit import moments_size
from coevo.trainers.learners.learner import Learner

GIGA = 2**30
MEMINFO = Path("/proc/meminfo")


def estimate(learners: Iterable[Learner]) -> dict[str, int]:
    """Return what learning still has to allocate, in bytes by part, passes aside.

    Weights and their copies are in memory already; passes adapt to what is left.
    """
    found = {"gradients": 0, "moments of AdamW": 0}
    for learner in learners:
        if lag := learner.algorithm.collect.staleness:
            trained = sum(_size(p) for p in learner.model.parameters() if p.requires_grad)
            name = "copies that play ahead"
            found[name] = found.get(name, 0) + (lag + 1) * trained
        kind = learner.optim.optimiser
        kept: Callable[[torch.Tensor], int] = {
            "adamw": lambda p: 2 * _size(p),
            "adamw8bit": moments_size,
            "sgd": lambda p: 0,
        }[kind]
        for group in learner.optimizer.param_groups:
            for p in group["params"]:
                found["gradients"] += _size(p) if p.grad is None else 0
                known = p in learner.optimizer.state
                found["moments of AdamW"] += 0 if known else kept(p)
    return found


def held(learners: Iterable[Learner]) -> dict[str, int]:
    """Return what weights and their copies take, in bytes by part; shared tensors count once."""
    seen: set[int] = set()
    found: dict[str, int] = {}
    for learner in learners:
        parts: Mapping[str, nn.Module | None] = {
            "weights": learner.model,
            "reference": learner.reference,
            "magnet": learner.magnet,
            "ema weights": learner.ema,
            "critic": learner.head,
        }
        for name, module in parts.items():
            for p in () if module is None else module.parameters():
                if p.data_ptr() not in seen:
                    seen.add(p.data_ptr())
                    found[name] = found.get(name, 0) + _size(p)
    return found


def check_room(learners: Mapping[str, Learner]) -> None:
    """Refuse a run whose gradients and moments do not fit into what memory is left.

    Raises:
        ConfigError: what is needed by part, what is free, and what makes it smaller.
    """
    every = list(learners.values())
    free = _free(next(every[0].model.parameters()).device)
    needed = estimate(every)
    if free is None or sum(needed.values()) <= free:
        return
    have = ", ".join(f"{n} {_giga(b)}" for n, b in held(every).items())
    want = ", ".join(f"{n} {_giga(b)}" for n, b in needed.items())
    raise ConfigError(
        f"this run does not fit: {want} are still to come, and {_giga(free)} are free beside "
        f"{have}; train adapters (population=adapters), leave out copies (reference, "
        "magnet, ema), or take a smaller model"
    )


def _free(device: torch.device) -> int | None:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    if not MEMINFO.is_file():
        return None
    lines = dict(line.split(":", 1) for line in MEMINFO.read_text().splitlines())
    return int(lines["MemAvailable"].split()[0]) * 1024


def _size(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _giga(size: int) -> str:
    return f"{size / GIGA:.3g} GiB"
