"""Correct: weights for tokens whose sampler and trainer disagree about their probability.

w = exp(logp_old - logp_roll), where "old" is the trainer's recomputation and "roll" is what the
sampler reported. The weight multiplies the loss and carries no gradient; a rejected token leaves
the mask. When logp_old is the sampler's own number, use `none`: the ratio already corrects.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.option import Table
from coevo.trainers.estimators.surrogate import LOG_RATIO_LIMIT


class Correction(NamedTuple):
    """Weight and mask of every token, both without gradient."""

    weight_BL: Tensor
    """Factor of the loss."""
    keep_BL: Tensor
    """False where the token is rejected."""


def no_correction(logp_old_BL: Tensor, logp_roll_BL: Tensor | None, mask_BL: Tensor) -> Correction:
    """Weight 1 everywhere.

    >>> no_correction(torch.zeros(1, 2), None, torch.ones(1, 2).bool()).weight_BL.tolist()
    [[1.0, 1.0]]
    """
    return Correction(torch.ones_like(logp_old_BL), torch.ones_like(mask_BL))


def token_tis(
    logp_old_BL: Tensor, logp_roll_BL: Tensor | None, mask_BL: Tensor, *, cap: float = 2.0
) -> Correction:
    """Truncated importance sampling per token: min(w, cap).

    Raises:
        ConfigError: The sampler's log-probabilities are missing.

    >>> token_tis(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1).bool()).weight_BL.tolist()
    [[2.0]]
    """
    weight_BL = _weight(logp_old_BL, logp_roll_BL, mask_BL, "token_tis")
    return Correction(weight_BL.clamp(max=cap), torch.ones_like(mask_BL))


def token_mis(
    logp_old_BL: Tensor,
    logp_roll_BL: Tensor | None,
    mask_BL: Tensor,
    *,
    lo: float = 0.5,
    hi: float = 5.0,
) -> Correction:
    """Masked importance sampling per token (IcePop): w where lo <= w <= hi, else rejected.

    Raises:
        ConfigError: The sampler's log-probabilities are missing, or lo is above hi.

    >>> old_BL, mask_BL = torch.tensor([[0.0, 2.0]]), torch.ones(1, 2).bool()
    >>> token_mis(old_BL, torch.zeros(1, 2), mask_BL).keep_BL.tolist()
    [[True, False]]
    """
    if not lo <= hi:
        raise ConfigError(f"token_mis: lo={lo} must not be above hi={hi}")
    weight_BL = _weight(logp_old_BL, logp_roll_BL, mask_BL, "token_mis")
    keep_BL = (weight_BL >= lo) & (weight_BL <= hi)
    return Correction(torch.where(keep_BL, weight_BL, 0.0), keep_BL)


CORRECT: Table = {"none": no_correction, "token_tis": token_tis, "token_mis": token_mis}


def _weight(logp_old_BL: Tensor, logp_roll_BL: Tensor | None, mask_BL: Tensor, name: str) -> Tensor:
    if logp_roll_BL is None:
        raise ConfigError(f"correct {name!r} needs logp_roll_BL, the sampler's log-probabilities")
    dtype = torch.promote_types(logp_old_BL.dtype, torch.float32)
    log_BL = logp_old_BL.detach().to(dtype) - logp_roll_BL.detach().to(dtype)
    log_BL = torch.where(mask_BL, log_BL, 0.0)
    return log_BL.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()
