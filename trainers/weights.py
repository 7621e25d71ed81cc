"""Averages of weights, and how the learning rate moves over a run."""

from __future__ import annotations

import math

import torch
from torch import nn

from coevo.trainers.algorithm import OptimSpec


@torch.no_grad()
def blend(old: nn.Module, new: nn.Module, decay: float) -> None:
    """Move old weights towards new ones: old <- decay old + (1 - decay) new.

    Tensors that both share, such as the base of an adapter, are left alone.
    """
    for a, b in zip(old.parameters(), new.parameters(), strict=True):
        if a is not b:
            a.lerp_(b.to(a), 1 - decay)


def schedule(optim: OptimSpec, step: int, progress: float) -> float:
    """Give the factor on the learning rate.

    Args:
        optim: with schedule, warm-up and final share.
        step: updates done before this one.
        progress: share of the run that is done, 0 to 1.
    """
    warm = min(1.0, (step + 1) / max(optim.warmup, 1))
    if optim.schedule == "constant":
        return warm
    fall = progress if optim.schedule == "linear" else (1 - math.cos(math.pi * progress)) / 2
    return warm * (1 - (1 - optim.final_lr) * fall)
