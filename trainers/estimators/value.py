"""The loss of the critic."""

from __future__ import annotations

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.aggregate import Denominators, token_mean
from coevo.trainers.estimators.loss import LossOut
from coevo.trainers.estimators.option import check_range


def value_loss(
    value_BL: Tensor,
    value_old_BL: Tensor,
    return_BL: Tensor,
    mask_BL: Tensor,
    denom: Denominators,
    *,
    clip: float = 0.2,
) -> LossOut:
    """PPO value loss: token mean of 0.5 max((v - R)^2, (clip(v, v_old ± clip) - R)^2).

    Args:
        value_BL: Values now, with gradient.
        value_old_BL: Values that the advantages were computed with.
        return_BL: Targets.
        mask_BL: Where there is a target (`Advantages.return_mask_BS`).
        denom: Counts of that mask over the whole update.
        clip: Greatest useful move of a value in one update; infinity turns the clip off.

    Raises:
        ConfigError: Shapes differ or clip is negative.

    >>> from coevo.trainers.estimators import count
    >>> v_BL, mask_BL = torch.tensor([[1.0]]), torch.ones(1, 1).bool()
    >>> zero_BL = torch.zeros(1, 1)
    >>> out = value_loss(v_BL, zero_BL, 1.0 + zero_BL, mask_BL, count(mask_BL, 1))
    >>> round(float(out.loss), 4)
    0.32
    """
    check_range("clip", clip, 0.0, float("inf"))
    tensors = (value_BL, value_old_BL, return_BL, mask_BL)
    if len({tensor.shape for tensor in tensors}) > 1:
        raise ConfigError(f"value_loss got the shapes {[tuple(t.shape) for t in tensors]}")
    dtype = torch.promote_types(value_BL.dtype, torch.float32)
    value_BL = torch.where(mask_BL, value_BL.to(dtype), 0.0)
    old_BL = torch.where(mask_BL, value_old_BL.detach().to(dtype), 0.0)
    target_BL = torch.where(mask_BL, return_BL.detach().to(dtype), 0.0)

    near_BL = old_BL + (value_BL - old_BL).clamp(-clip, clip)
    square_BL, near_square_BL = (value_BL - target_BL) ** 2, (near_BL - target_BL) ** 2
    loss = 0.5 * token_mean(torch.maximum(square_BL, near_square_BL), mask_BL, denom)

    used = mask_BL.sum().clamp(min=1)
    stats = {
        "tokens": mask_BL.sum().to(dtype),
        "loss/value": loss.detach(),
        "value/clip_fraction": (near_square_BL > square_BL).sum() / used,
        "value/mean": value_BL.detach().sum() / used,
    }
    return LossOut(loss, stats)
