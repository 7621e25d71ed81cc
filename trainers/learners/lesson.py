"""What a learner takes optimiser steps on: a loss with everything that it is computed from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class Lesson(ABC):
    """A loss over the items of an update.

    Its denominators are counts over the whole update, of which each mini-batch gets an equal share:
    the gradient depends neither on micro-batches nor on what else is learnt beside it.
    """

    @property
    @abstractmethod
    def units(self) -> int:
        """How many pieces mini-batches are drawn from."""

    @property
    def prefix(self) -> str:
        """What begins its names in the log."""
        return ""

    @abstractmethod
    def cut(self, minibatches: int) -> Self:
        """Return it with a share of the denominators for each of so many mini-batches."""

    @abstractmethod
    def add_gradients(
        self, units: Sequence[int], generator: torch.Generator | None = None
    ) -> list[dict[str, Tensor]]:
        """Add the gradients of a mini-batch, and return what to log of every micro-batch."""

    def control(self, merged: Mapping[str, float]) -> dict[str, Any]:
        """Return what the loss keeps for the next update, given what was logged of this one."""
        return {}
