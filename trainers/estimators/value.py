"""The loss of the critic."""

from __future__ import annotations

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.aggregate import Denominators, TokenMean
from coevo.trainers.estimators.loss import LossOut


def value_loss(
    value_CL: Tensor,
    value_old_CL: Tensor,
    return_CL: Tensor,
    mask_CL: Tensor,
    denom: Denominators,
    *,
    clip: float = 0.2,
) -> LossOut:
    """PPO value loss: token mean of 0.5 max((v - R)^2, (clip(v, v_old ± clip) - R)^2).

    Args:
        value_CL: Values now, with gradient.
        value_old_CL: Values that the advantages were computed with.
        return_CL: Targets.
        mask_CL: Where there is a target (`Advantages.return_mask_BS`).
        denom: Counts of that mask over the whole update.
        clip: Greatest useful move of a value in one update; infinity turns the clip off.

    Raises:
        ConfigError: Shapes differ or clip is negative.

    >>> from coevo.trainers.estimators import count
    >>> v_CL, mask_CL = torch.tensor([[1.0]]), torch.ones(1, 1).bool()
    >>> zero_CL = torch.zeros(1, 1)
    >>> out = value_loss(v_CL, zero_CL, 1.0 + zero_CL, mask_CL, count(mask_CL, 1))
    >>> round(float(out.loss), 4)
    0.32
    """
    tensors = (value_CL, value_old_CL, return_CL, mask_CL)
    if len({tensor.shape for tensor in tensors}) > 1:
        raise ConfigError(f"value_loss got the shapes {[tuple(t.shape) for t in tensors]}")
    dtype = torch.promote_types(value_CL.dtype, torch.float32)
    value_CL = torch.where(mask_CL, value_CL.to(dtype), 0.0)
    old_CL = torch.where(mask_CL, value_old_CL.detach().to(dtype), 0.0)
    target_CL = torch.where(mask_CL, return_CL.detach().to(dtype), 0.0)

    near_CL = old_CL + (value_CL - old_CL).clamp(-clip, clip)
    square_CL, near_square_CL = (value_CL - target_CL) ** 2, (near_CL - target_CL) ** 2
    loss = 0.5 * TokenMean()(torch.maximum(square_CL, near_square_CL), mask_CL, denom)

    used = mask_CL.sum().clamp(min=1)
    stats = {
        "tokens": mask_CL.sum().to(dtype),
        "loss/value": loss.detach(),
        "value/clip_fraction": (near_square_CL > square_CL).sum() / used,
        "value/mean": value_CL.detach().sum() / used,
    }
    return LossOut(loss, stats)
