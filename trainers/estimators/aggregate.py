"""Aggregate: from a loss per token to one number, with denominators of the whole update.

The denominators are counted once over all rows of the optimiser step (all micro-batches, all
processes), so the sum over micro-batches equals the value of the full batch, whatever the split
and the padding. Do not divide by the number of accumulation steps on top, and where processes
average their gradients multiply by their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.option import Table


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


def count(mask_BL: Tensor, max_length: float) -> Denominators:
    """Count the denominators of a mask that holds all rows of the update.

    >>> count(torch.tensor([[True, True], [False, False]]), 8)
    Denominators(tokens=2, rows=1, max_length=8)
    """
    return Denominators(int(mask_BL.sum()), int(mask_BL.any(1).sum()), max_length)


def token_mean(loss_BL: Tensor, mask_BL: Tensor, denom: Denominators) -> Tensor:
    """Every token counts the same: sum / tokens.

    >>> mask_BL = torch.tensor([[True, True, True], [True, False, False]])
    >>> float(token_mean(torch.ones(2, 3), mask_BL, count(mask_BL, 3)))
    1.0
    """
    return _kept(loss_BL, mask_BL).sum() / max(denom.tokens, 1)


def seq_mean_token_mean(loss_BL: Tensor, mask_BL: Tensor, denom: Denominators) -> Tensor:
    """Every row counts the same: sum_i (sum_t loss / length_i) / rows.

    >>> mask_BL = torch.tensor([[True, True, True], [True, False, False]])
    >>> loss_BL = torch.tensor([[1.0, 1.0, 1.0], [3.0, 0.0, 0.0]])
    >>> float(seq_mean_token_mean(loss_BL, mask_BL, count(mask_BL, 3)))
    2.0
    """
    length_B = mask_BL.sum(1).clamp(min=1)
    return (_kept(loss_BL, mask_BL).sum(1) / length_B).sum() / max(denom.rows, 1)


def seq_mean_token_sum(loss_BL: Tensor, mask_BL: Tensor, denom: Denominators) -> Tensor:
    """Sum over tokens, mean over rows: sum / rows.

    >>> mask_BL = torch.tensor([[True, True, True], [True, False, False]])
    >>> float(seq_mean_token_sum(torch.ones(2, 3), mask_BL, count(mask_BL, 3)))
    2.0
    """
    return _kept(loss_BL, mask_BL).sum() / max(denom.rows, 1)


def const(loss_BL: Tensor, mask_BL: Tensor, denom: Denominators) -> Tensor:
    """Constant denominator (Dr. GRPO): sum / (rows * max_length).

    >>> mask_BL = torch.tensor([[True, True, True], [True, False, False]])
    >>> float(const(torch.ones(2, 3), mask_BL, count(mask_BL, 8)))
    0.25
    """
    return _kept(loss_BL, mask_BL).sum() / max(denom.rows * denom.max_length, 1)


def sum_norm(loss_BL: Tensor, mask_BL: Tensor, denom: Denominators) -> Tensor:
    """Constant denominator without the rows: sum / max_length.

    verl's `seq-mean-token-sum-norm`: its name says mean over rows and its code does not divide by
    their number, so the step grows with the batch. `const` is Dr. GRPO's.

    >>> mask_BL = torch.tensor([[True, True, True], [True, False, False]])
    >>> float(sum_norm(torch.ones(2, 3), mask_BL, count(mask_BL, 8)))
    0.5
    """
    return _kept(loss_BL, mask_BL).sum() / max(denom.max_length, 1)


AGGREGATE: Table = {
    "token_mean": token_mean,
    "seq_mean_token_mean": seq_mean_token_mean,
    "seq_mean_token_sum": seq_mean_token_sum,
    "const": const,
    "sum_norm": sum_norm,
}


def _kept(loss_BL: Tensor, mask_BL: Tensor) -> Tensor:
    """Select, not multiply: 0 times an infinite masked loss would be NaN."""
    return torch.where(mask_BL, loss_BL, 0.0)
