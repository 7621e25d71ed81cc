"""Aggregate: from a loss per token to one number, with denominators of the whole update.

The denominators are counted once over all rows of the optimiser step (all micro-batches, all
processes), so the sum over micro-batches equals the value of the full batch, whatever the split
and the padding. Do not divide by the number of accumulation steps on top, and where processes
average their gradients multiply by their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import choice, config
from coevo.envs.core.errors import ConfigError


@dataclass(frozen=True)
class Denominators:
    """Counts over the whole optimiser step.

    Raises:
        ConfigError: A count is negative.
    """

    tokens: float
    """Tokens inside the mask."""
    rows: float
    """Rows with at least one token inside the mask."""
    max_length: float
    """Configured greatest number of policy tokens of a row: a constant, not a padded width."""

    def __post_init__(self) -> None:
        if min(self.tokens, self.rows, self.max_length) < 0:
            raise ConfigError(f"{self} must not hold a negative count")


def count(mask_CL: Tensor, max_length: float) -> Denominators:
    """Count the denominators of a mask that holds all rows of the update.

    >>> count(torch.tensor([[True, True], [False, False]]), 8)
    Denominators(tokens=2, rows=1, max_length=8)
    """
    return Denominators(int(mask_CL.sum()), int(mask_CL.any(1).sum()), max_length)


@config
class TokenMean:
    """Every token counts the same: sum / tokens.

    >>> mask_CL = torch.tensor([[True, True, True], [True, False, False]])
    >>> float(TokenMean()(torch.ones(2, 3), mask_CL, count(mask_CL, 3)))
    1.0
    """

    name: Literal["token_mean"] = "token_mean"

    def __call__(self, loss_CL: Tensor, mask_CL: Tensor, denom: Denominators) -> Tensor:
        return _kept(loss_CL, mask_CL).sum() / max(denom.tokens, 1)


@config
class SeqMeanTokenMean:
    """Every row counts the same: sum_i (sum_t loss / length_i) / rows.

    >>> mask_CL = torch.tensor([[True, True, True], [True, False, False]])
    >>> loss_CL = torch.tensor([[1.0, 1.0, 1.0], [3.0, 0.0, 0.0]])
    >>> float(SeqMeanTokenMean()(loss_CL, mask_CL, count(mask_CL, 3)))
    2.0
    """

    name: Literal["seq_mean_token_mean"] = "seq_mean_token_mean"

    def __call__(self, loss_CL: Tensor, mask_CL: Tensor, denom: Denominators) -> Tensor:
        length_C = mask_CL.sum(1).clamp(min=1)
        return (_kept(loss_CL, mask_CL).sum(1) / length_C).sum() / max(denom.rows, 1)


@config
class SeqMeanTokenSum:
    """Sum over tokens, mean over rows: sum / rows.

    >>> mask_CL = torch.tensor([[True, True, True], [True, False, False]])
    >>> float(SeqMeanTokenSum()(torch.ones(2, 3), mask_CL, count(mask_CL, 3)))
    2.0
    """

    name: Literal["seq_mean_token_sum"] = "seq_mean_token_sum"

    def __call__(self, loss_CL: Tensor, mask_CL: Tensor, denom: Denominators) -> Tensor:
        return _kept(loss_CL, mask_CL).sum() / max(denom.rows, 1)


@config
class ConstantMean:
    """Constant denominator (Dr. GRPO): sum / (rows * max_length).

    >>> mask_CL = torch.tensor([[True, True, True], [True, False, False]])
    >>> float(ConstantMean()(torch.ones(2, 3), mask_CL, count(mask_CL, 8)))
    0.25
    """

    name: Literal["constant_mean"] = "constant_mean"

    def __call__(self, loss_CL: Tensor, mask_CL: Tensor, denom: Denominators) -> Tensor:
        return _kept(loss_CL, mask_CL).sum() / max(denom.rows * denom.max_length, 1)


@config
class SumNorm:
    """Constant denominator without the rows: sum / max_length.

    verl's `seq-mean-token-sum-norm`: its name says mean over rows and its code does not divide by
    their number, so the step grows with the batch. `const` is Dr. GRPO's.

    >>> mask_CL = torch.tensor([[True, True, True], [True, False, False]])
    >>> float(SumNorm()(torch.ones(2, 3), mask_CL, count(mask_CL, 8)))
    0.5
    """

    name: Literal["sum_norm"] = "sum_norm"

    def __call__(self, loss_CL: Tensor, mask_CL: Tensor, denom: Denominators) -> Tensor:
        return _kept(loss_CL, mask_CL).sum() / max(denom.max_length, 1)


Aggregation = Annotated[
    TokenMean | SeqMeanTokenMean | SeqMeanTokenSum | ConstantMean | SumNorm,
    choice(),
]


def _kept(loss_CL: Tensor, mask_CL: Tensor) -> Tensor:
    """Select, not multiply: 0 times an infinite masked loss would be NaN."""
    return torch.where(mask_CL, loss_CL, 0.0)
