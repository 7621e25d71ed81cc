"""What the components of advantages and losses are called with, and what they declare.

A component's parameters are fields with ranges; calling it computes its formula.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.batch import Batch
from coevo.trainers.estimate import Estimate

INFINITY = float("inf")


# ---- Advantages ------------------------------------------------------------------------------


class Composition(ABC):
    """Makes of reward components what is credited."""

    name: str
    keeps_apart: ClassVar[bool] = False
    """Whether rewards are estimated one by one and their advantages added, with their weights."""

    @abstractmethod
    def __call__(self, batch: Batch, weight_K: Tensor) -> Tensor:
        """Return the reward of every turn, [B, T], or of every component, [B, T, K].

        The batch's `reward_BTK` is in float64 and 0 at padding; weight_K holds a factor for each.
        """

    def weighed(
        self, batch: Batch, weight_K: Tensor, state: Mapping[str, Any]
    ) -> tuple[Tensor, Mapping[str, Any]]:
        """Return the weights of what is kept apart, and the state that the next batch is given."""
        return weight_K, state


class AdvantageStep(ABC):
    """Takes an estimate and returns the next one."""

    name: str

    @abstractmethod
    def __call__(self, e: Estimate) -> Estimate:
        """Return the next estimate."""

    @property
    def reads_mark(self) -> str:
        """Name of the mark on turns that it reads; empty for none."""
        return ""

    @property
    def of_one_reward(self) -> bool:
        """Whether it knows one reward only: a critic's, a played baseline's, a running mean's."""
        return False


class Credit(AdvantageStep):
    """Chooses which number of a trajectory is compared; its y is the composed reward per turn."""

    reads: ClassVar[str | None] = None
    """Values of a critic that the batch must hold."""


class Baseline(AdvantageStep):
    """Subtracts what a credit is compared with."""

    by: str = "group"
    """Key of the groups that it compares."""
    needs_greedy: ClassVar[bool] = False
    """Whether every task is also played greedily once."""

    @property
    def keeps_single(self) -> bool:
        """Whether a trajectory that is alone in its group keeps its credit."""
        return False

    @property
    def compares_episodes(self) -> bool:
        """Whether it compares episodes of one task, so that there must be several."""
        return False


class Normalisation(AdvantageStep):
    """Sets the unit; `e.credit` is the estimate before the baseline."""


class Transform(AdvantageStep):
    """Changes an advantage after it is normalised."""


# ---- Losses ----------------------------------------------------------------------------------


class SurrogateLoss(NamedTuple):
    """Loss per token, and where it still teaches."""

    loss_CL: Tensor
    unclipped_CL: Tensor
    """False where the clip has cut the gradient of the token."""


class Term(NamedTuple):
    """One regulariser: what enters the loss and what enters the log."""

    loss_CL: Tensor
    """Term of every token, coefficient and sign included."""
    value_CL: Tensor
    """The measured quantity, without the coefficient."""
    stats: Mapping[str, Tensor] = MappingProxyType({})
    """Further numbers for the log and for `control`; those named `sum/` are added up."""


class Correction(NamedTuple):
    """Weight and mask of every token, both without gradient."""

    weight_CL: Tensor
    keep_CL: Tensor
    """False where the token is rejected."""


class LossComponent:
    """What a surrogate, a token mask or a regulariser needs and implies."""

    name: str
    needs_reference: ClassVar[bool] = False
    """Whether it reads the log-probabilities of the reference model."""
    needs_batch_statistics: ClassVar[bool] = False
    """Whether `batch_statistics` must see all contexts of an optimiser step before the loss."""
    acts_at_zero: ClassVar[bool] = False
    """Whether a context whose advantage is 0 everywhere has a gradient."""
    always_token_mean: ClassVar[bool] = False
    """Whether it is a mean over tokens, whatever the aggregation of the policy loss."""
    corrects_sampler: ClassVar[bool] = False
    """Whether its ratio refers to the behaviour policy, so that a correction would count twice."""

    def batch_statistics(self, x: Batch, generator: torch.Generator | None) -> Tensor:
        """Return what cannot be decided in a part of a mini-batch, [C, L].

        A threshold on a share of all tokens would depend on how contexts are cut into
        micro-batches. So all of them are seen once, without gradient, and every micro-batch
        carries its share of the result.
        """
        raise NotImplementedError(  # abstract, for those that need it
            f"{type(self).__name__} needs batch statistics and must define batch_statistics"
        )

    def control(self, state: Mapping[str, Any], stats: Mapping[str, float]) -> dict[str, Any]:
        """Return the changes of what it keeps between updates (`Batch.state`), once per update.

        `stats` are means over the update, from `merge_stats`.
        """
        return {}


class Surrogate(LossComponent, ABC):
    """The loss of every token before aggregation, to be minimised; the advantage is a constant."""

    @abstractmethod
    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        """Return the loss of every token, and which tokens still teach."""


class Regulariser(LossComponent, ABC):
    """A term per token that is added to the policy loss; it does not wait for an advantage."""

    acts_at_zero = True
    compares: ClassVar[Literal["", "magnet", "reference"]] = ""
    """Whose whole distributions it compares with the policy's; it reads `kl_magnet_CL` or
    `kl_reference_CL`."""

    @abstractmethod
    def __call__(self, x: Batch) -> Term:
        """Return its term of every token."""

    def divergence(self, log_pi_NV: Tensor, log_target_NV: Tensor) -> Tensor:
        """Return the distance to the target at every token, from complete log-distributions."""
        raise NotImplementedError(  # abstract, for those that compare
            f"{type(self).__name__} compares distributions and must define divergence"
        )


class TokenMask(LossComponent, ABC):
    """Which tokens of a mini-batch teach, decided from all of them; the others add no loss.

    Their place in the denominators of the aggregation stays.
    """

    needs_batch_statistics = True

    @abstractmethod
    def __call__(self, x: Batch, generator: torch.Generator | None) -> Tensor:
        """Return which tokens are kept."""

    def batch_statistics(self, x: Batch, generator: torch.Generator | None) -> Tensor:
        return self(x, generator)


@dataclass(frozen=True)
class Denominators:
    """Counts over the whole optimiser step.

    Raises:
        ConfigError: A count is negative.
    """

    tokens: float
    """Tokens inside the mask."""
    rows: float
    """Contexts with at least one token inside the mask."""
    max_length: float
    """Configured greatest number of response tokens of a reply: a constant, not a padded width."""

    def __post_init__(self) -> None:
        if min(self.tokens, self.rows, self.max_length) < 0:
            raise ConfigError(f"{self} must not hold a negative count")

    @classmethod
    def of(cls, mask_CL: Tensor, max_length: float) -> Denominators:
        """Count a mask that holds all contexts of the update.

        >>> Denominators.of(torch.tensor([[True, True], [False, False]]), 8)
        Denominators(tokens=2, rows=1, max_length=8)
        """
        return cls(int(mask_CL.sum()), int(mask_CL.any(1).sum()), max_length)


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
