"""Parameter sets as learners and checkpoints see them: scored, written, read."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from coevo.agents.engines.prefix_tree import Row
from coevo.agents.engines.scoring import InnerLayer, Scored, Span
from coevo.agents.models.base_model import BaseModel
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.errors import DataError


class Weights(ABC):
    """Base of what a learner can move: a whole model, an adapter on a base, a table.

    The model is trained in place; it is put into eval mode.
    """

    model: Any
    base: BaseModel | None = None
    """Where weights lie that it shares and does not change; None where all are its own."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model.eval()

    @property
    @abstractmethod
    def hidden_size(self) -> int:
        """Width of the hidden states that critics read."""

    def in_rows(self, spans: Sequence[Span], longest: int) -> list[Row]:
        """Return which token sequences are to be computed in one row, of at most so many tokens.

        Here each is alone.
        """
        return [Row((i,), len(s.ids)) for i, s in enumerate(spans)]

    @abstractmethod
    def score(
        self,
        spans: Sequence[Span],
        sampling: SamplingConfig,
        model: nn.Module | None = None,
        hidden: bool = False,
        autocast: torch.dtype | None = None,
        rows: Sequence[Sequence[int]] | None = None,
        inner: InnerLayer | None = None,
    ) -> Scored:
        """Return what these weights, or others of the same kind, say of given token sequences.

        Args:
            spans: of a policy with such weights.
            sampling: how that policy draws its tokens.
            model: other weights; None takes its own.
            hidden: whether to return hidden states, for a critic.
            autocast: compute matrix products in this type.
            rows: the indices of the spans that stand in each row; None takes one row each.
            inner: whose log-probabilities are taken, if not those of the whole policy.
        """

    @abstractmethod
    def reward_head(self) -> nn.Module:
        """Return a new head that reads a number from the states, 0 at first."""

    @abstractmethod
    def reward_N(self, scored: Scored, head: nn.Module) -> Tensor:
        """Return what a reward head reads before each token; the last has seen the reply."""

    @abstractmethod
    def write(self, folder: Path, model: nn.Module) -> None:
        """Write weights as a folder that loads as this kind of policy."""

    @abstractmethod
    def read(self, folder: Path) -> Mapping[str, Tensor]:
        """Return the weights that `write` wrote, and take back what else it noted."""

    def reads_like(self, other: Weights) -> bool:
        """Return whether a token id means the same to other weights."""
        return type(self) is type(other)

    def write_frozen(self, folder: Path) -> None:
        """Write a policy that does not learn: where its weights lie."""
        self.known_base.write(folder)

    @property
    def known_base(self) -> BaseModel:
        """Where the weights lie that it shares; DataError where that is not known."""
        if self.base is None:
            raise DataError("these weights rest on a model, but it is not known where that is")
        return self.base

    def having(self, model: nn.Module) -> Self:
        """Return the same with another model of its kind."""
        twin = copy.copy(self)
        twin.model = model
        return twin
