"""Copies of models that share their frozen parameters, which memory then holds once."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable
from typing import TypeVar

import torch
from torch import nn

M = TypeVar("M", bound=nn.Module)


def shared_copy(model: M) -> M:
    """Copy the modules of a model; parameters that are not trained stay the same tensors.

    Of a model whose parameters are all trained this is an ordinary deep copy.

    >>> one = nn.Linear(1, 1).requires_grad_(False)
    >>> two = shared_copy(one)
    >>> two is one, two.weight is one.weight
    (False, True)
    """
    return copy.deepcopy(model, {id(p): p for p in model.parameters() if not p.requires_grad})


def frozen_copy(model: M) -> M:
    """Copy a model whose copy will not be trained."""
    return shared_copy(model).eval().requires_grad_(False)


class FrozenCopies:
    """Frozen copies of models; equal ones are one object, which memory holds once.

    Args:
        known: models whose weights never change.

    >>> frozen = FrozenCopies()
    >>> one, other = nn.Linear(2, 1), nn.Linear(2, 1)
    >>> frozen.of(one) is frozen.of(one), frozen.of(one) is frozen.of(other)
    (True, False)
    """

    def __init__(self, known: Iterable[nn.Module] = ()) -> None:
        self._known = list(known)

    def of(self, model: nn.Module) -> nn.Module:
        """Return a copy that must never be changed."""
        found = next((known for known in self._known if _equal(known, model)), None)
        if found is None:
            found = frozen_copy(model)
            self._known.append(found)
        return found


def _equal(one: nn.Module, other: nn.Module) -> bool:
    """Return whether two modules compute the same: equal settings, layers and tensors."""
    if type(one) is not type(other) or repr(one) != repr(other):
        return False
    if repr(getattr(one, "config", None)) != repr(getattr(other, "config", None)):
        return False
    if repr(getattr(one, "peft_config", None)) != repr(getattr(other, "peft_config", None)):
        return False
    pairs = zip(_tensors(one), _tensors(other), strict=True)
    return all(a is b or (a.dtype == b.dtype and torch.equal(a, b)) for a, b in pairs)


@torch.no_grad()
def copy_weights(into: nn.Module, source: nn.Module) -> None:
    """Copy the weights of an original; tensors that both share are left alone."""
    pairs = zip(_tensors(into), _tensors(source), strict=True)
    for old, new in pairs:
        if old is not new:
            old.copy_(new)


@torch.no_grad()
def blend(old: nn.Module, new: nn.Module, decay: float) -> None:
    """Move old weights towards new ones: old <- decay old + (1 - decay) new.

    Tensors that both share, such as the base of an adapter, are left alone.
    """
    for a, b in zip(old.parameters(), new.parameters(), strict=True):
        if a is not b:
            a.lerp_(b.to(a), 1 - decay)


def _tensors(module: nn.Module) -> itertools.chain[torch.Tensor]:
    return itertools.chain(module.parameters(), module.buffers())
