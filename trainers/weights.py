"""Copies and averages of weights, and how the learning rate moves over a run."""

from __future__ import annotations

import copy
import math

import torch
from torch import nn
from transformers import PreTrainedModel

from coevo.trainers.algorithm import OptimSpec


def frozen_copy(model: PreTrainedModel) -> PreTrainedModel:
    """Copy a model whose weights will not be trained."""
    return copy.deepcopy(model).eval().requires_grad_(False)


@torch.no_grad()
def blend(old: nn.Module, new: nn.Module, decay: float) -> None:
    """Move old weights towards new ones: old <- decay old + (1 - decay) new."""
    for a, b in zip(old.parameters(), new.parameters(), strict=True):
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
