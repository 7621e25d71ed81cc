"""Less memory: recomputed layers, and smaller passes where memory runs out."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import torch
from torch import nn

from coevo.envs.core.errors import ConfigError
from coevo.trainers import ranks

T = TypeVar("T")


class HasBudget(Protocol):
    """Passes with a token budget."""

    token_budget: int


def within_memory(
    passes: HasBudget, work: Callable[[], T], undo: Callable[[], None] = lambda: None
) -> T:
    """Return what some work gives; where memory runs out, start it again with smaller passes.

    Args:
        passes: whose token budget is halved, for good.
        work: runs passes; its result does not depend on their size.
        undo: takes back what unfinished work has left.

    Raises:
        ConfigError: not even one sequence at a time fits.
    """
    while True:
        try:
            return work()
        except torch.OutOfMemoryError:
            if ranks.count() > 1:
                raise ConfigError(
                    f"out of memory on rank {ranks.number()}: set optim.token_budget below "
                    f"{passes.token_budget}; several ranks cannot halve it one by one"
                ) from None
            if passes.token_budget <= 1:
                raise ConfigError(
                    "out of memory with one sequence at a time: --set "
                    "gradient_checkpointing=true, --set population=adapters, a smaller "
                    "model, or shorter prompts and replies"
                ) from None
        undo()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        passes.token_budget //= 2
        warnings.warn(
            f"out of memory: passes are cut to optim.token_budget={passes.token_budget} tokens, "
            "the gradient stays what it was",
            stacklevel=2,
        )


@contextlib.contextmanager
def recomputed(model: nn.Module) -> Iterator[None]:
    """Keep only the inputs of a model's layers for the gradient, and compute the rest again.

    Layers act so while they count as training; what is in them does not, so that nothing drops out.
    """
    from transformers.modeling_layers import GradientCheckpointingLayer

    layers = [m for m in model.modules() if isinstance(m, GradientCheckpointingLayer)]
    for layer in layers:
        layer.training = True
    try:
        yield
    finally:
        for layer in layers:
            layer.training = False


def allow_recomputing(model: nn.Module) -> None:
    """Prepare a model for `recomputed`.

    Raises:
        ConfigError: its architecture cannot.
    """
    if not getattr(model, "supports_gradient_checkpointing", False):
        raise ConfigError(
            f"gradient_checkpointing=True, but {type(model).__name__} cannot recompute its layers"
        )
    known = "activation_checkpointing_enable", "gradient_checkpointing_enable"  # new and old
    enable = next(getattr(model, name) for name in known if hasattr(model, name))
    enable({"use_reentrant": False})
