"""What the components of advantages and losses declare about themselves, where they are defined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.inputs import LossInputs


class Term(NamedTuple):
    """One regulariser: what enters the loss and what enters the log."""

    loss_CL: Tensor
    """Term of every token, coefficient and sign included."""
    value_CL: Tensor
    """The measured quantity, without the coefficient."""
    stats: Mapping[str, Tensor] = MappingProxyType({})
    """Further numbers for the log and for `control`; those named `sum/` are added up."""


class LossComponent:
    """What a surrogate, a token mask or a regulariser needs and implies."""

    name: str
    needs_reference: ClassVar[bool] = False
    """Whether it reads the log-probabilities of the reference model."""
    needs_magnet: ClassVar[bool] = False
    """Whether it reads the distance to the magnet."""
    needs_batch_statistics: ClassVar[bool] = False
    """Whether `batch_statistics` must see all sequences of an optimiser step before the loss."""
    acts_at_zero: ClassVar[bool] = False
    """Whether a sequence whose advantage is 0 everywhere has a gradient."""
    always_token_mean: ClassVar[bool] = False
    """Whether it is a mean over tokens, whatever the aggregation of the policy loss."""
    corrects_sampler: ClassVar[bool] = False
    """Whether its ratio refers to the behaviour policy, so that a correction would count twice."""

    def batch_statistics(self, x: LossInputs, generator: torch.Generator | None) -> Tensor:
        """Return what cannot be decided in a part of a mini-batch, [C, L].

        A threshold on a share of all tokens would depend on how sequences are cut into
        micro-batches. So all of them are seen once, without gradient, and every micro-batch
        carries its share of the result.
        """
        raise NotImplementedError(  # abstract, for those that need it
            f"{type(self).__name__} needs batch statistics and must define batch_statistics"
        )

    def control(self, state: Mapping[str, Any], stats: Mapping[str, float]) -> dict[str, Any]:
        """Return the changes of what it keeps between updates; called once per update.

        Args:
            state: as it was during the update, read from `LossInputs.state`.
            stats: means over the update, from `merge_stats`.
        """
        return {}


class TermComponent(LossComponent, ABC):
    """A regulariser: its gradient does not wait for an advantage."""

    acts_at_zero = True

    @abstractmethod
    def __call__(self, x: LossInputs) -> Term:
        """Return its term of every token."""


class MaskComponent(LossComponent, ABC):
    """A token mask, decided from a whole mini-batch; a token that is not kept adds no loss.

    Its place in the denominators of the aggregation stays.
    """

    needs_batch_statistics = True

    @abstractmethod
    def __call__(self, x: LossInputs, generator: torch.Generator | None) -> Tensor:
        """Return which tokens are kept."""

    def batch_statistics(self, x: LossInputs, generator: torch.Generator | None) -> Tensor:
        """Return which tokens are kept."""
        return self(x, generator)


class AdvantageComponent:
    """What a composition, a credit or a baseline needs and implies."""

    name: str
    of_one_reward: ClassVar[bool] = False
    """Whether it knows one reward only: a critic's, a played baseline's, a running mean's."""
    reads: ClassVar[str | None] = None
    """Values of a critic that the batch must hold."""
    needs_greedy: ClassVar[bool] = False
    """Whether every task is also played greedily once."""
    keeps_apart: ClassVar[bool] = False
    """Whether several rewards are normalised apart."""

    @property
    def compares_episodes(self) -> bool:
        """Whether it compares episodes of one task, so that there must be several."""
        return False


def check_range(name: str, value: float, low: float, high: float) -> None:
    """Refuse a parameter outside the closed interval [low, high].

    Raises:
        ConfigError: the value is outside, or not a number.

    >>> check_range("gamma", 1.5, 0.0, 1.0)
    Traceback (most recent call last):
    coevo.envs.core.errors.ConfigError: gamma=1.5 must be between 0.0 and 1.0
    """
    if not low <= value <= high:
        raise ConfigError(f"{name}={value} must be between {low} and {high}")
