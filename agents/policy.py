"""What can be trained: an agent whose replies are tokens of a model with weights.

A policy is three things in one object: who sits there (`act`), the engine that samples and scores
tokens (`act`, `score`), and the weights (`model`) that a learner moves. Collectors, learners and
checkpoints ask for nothing else, so that language models and tables are trained alike.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from coevo.agents.agent import Agent, Reply, Request
from coevo.agents.base_model import BaseModel
from coevo.agents.sampling import SamplingConfig
from coevo.agents.scoring import Scored, Span
from coevo.envs.core.errors import DataError


class Policy(Agent, ABC):
    """Base of the agents that can be trained.

    Args:
        model: the weights; trained in place.
        name: shown in records.
        sampling: temperature and limits.
        seed: of the sampling.
    """

    model: Any
    """A torch module."""
    base: BaseModel | None = None
    """Where weights lie that it shares and does not change; None where all are its own."""

    def __init__(
        self,
        model: nn.Module,
        *,
        name: str = "policy",
        sampling: SamplingConfig | None = None,
        seed: int = 0,
    ) -> None:
        self.model, self.name = model.eval(), name
        self.sampling = sampling or SamplingConfig()
        self.sampled_tokens = 0
        """Tokens written so far, for budgets and rates."""
        self.reseed(seed)
        self.forget()

    @property
    def sampling_settings(self) -> Mapping[str, Any]:
        """Temperature and longest reply."""
        drawn = self.sampling
        return {"temperature": drawn.temperature, "max_new_tokens": drawn.max_new_tokens}

    @property
    @abstractmethod
    def hidden_size(self) -> int:
        """Width of the hidden states that critics read."""

    @abstractmethod
    def read_without(self, request: Request, reply: Reply) -> list[int]:
        """Return the prompt's ids of a request under which a reply is learnt, not sampled.

        Args:
            request: what was asked, without the text that a trainer had added; its conversation
                is one of its own.
            reply: what was sampled, with that text.
        """

    @abstractmethod
    def spell(self, request: Request, text: str) -> Reply:
        """Return a given reply in the tokens of this policy, as if it had been written by it."""

    @abstractmethod
    def reward_head(self) -> nn.Module:
        """Return a new head that reads a number from this policy's states, 0 at first."""

    @abstractmethod
    def reward_N(self, scored: Scored, head: nn.Module) -> Tensor:
        """Return what a reward head reads before each token; the last has seen the reply."""

    @abstractmethod
    def score(
        self,
        spans: Sequence[Span],
        model: nn.Module | None = None,
        hidden: bool = False,
        autocast: torch.dtype | None = None,
    ) -> Scored:
        """Return what these weights, or others of the same kind, say of given token sequences.

        Args:
            spans: of this policy's tokens.
            model: other weights; None takes its own.
            hidden: whether to return hidden states, for a critic.
            autocast: compute matrix products in this type.
        """

    @abstractmethod
    def write(self, folder: Path, model: nn.Module) -> None:
        """Write weights as a folder that loads as this kind of policy."""

    @abstractmethod
    def read(self, folder: Path) -> Mapping[str, Tensor]:
        """Return the weights that `write` wrote, and take back what else it noted."""

    @property
    def known_base(self) -> BaseModel:
        """Where the weights lie that it shares.

        Raises:
            DataError: that is not known.
        """
        if self.base is None:
            raise DataError(f"{self.name} rests on a model, but it is not known where that is")
        return self.base

    def reseed(self, seed: int) -> None:
        """Restart the sampling generator; equal seeds and requests give equal replies."""
        self._generator = torch.Generator().manual_seed(seed)

    def having(self, model: nn.Module, name: str | None = None) -> Self:
        """Return the same policy with other weights of its kind."""
        twin = copy.copy(self)
        twin.model, twin.name = model, name or self.name
        twin.forget()
        return twin

    def greedy(self, name: str) -> Self:
        """Return a player with the same weights that always takes the likeliest token."""
        twin = self.having(self.model, name)
        twin.sampling = replace(self.sampling, temperature=0.0)
        return twin
