"""Surrogates: the loss of every token before aggregation, to be minimised; A is a constant.

A ratio level gives log s per token, a kind turns s into a loss. Log-ratios are limited to ±20
before the exponential.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.broadcast import expand_turns, sum_turns
from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.option import Table, check_range

LOG_RATIO_LIMIT = 20.0


class Surrogate(NamedTuple):
    """Loss per token, and where it still teaches."""

    loss_BL: Tensor
    """Loss of every token; the gate is already in it."""
    gate_BL: Tensor
    """False where the clip has cut the gradient of the token."""


def ratio_token(
    logp_BL: Tensor, logp_old_BL: Tensor, mask_BL: Tensor, turn_id_BL: Tensor
) -> Tensor:
    """One ratio per token: log s = logp - logp_old.

    >>> logp_BL, mask_BL = torch.tensor([[-1.0]]), torch.ones(1, 1).bool()
    >>> ratio_token(logp_BL, logp_BL - 0.5, mask_BL, torch.zeros(1, 1).long()).tolist()
    [[0.5]]
    """
    return torch.where(mask_BL, logp_BL - logp_old_BL, 0.0).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)


def ratio_turn(
    logp_BL: Tensor,
    logp_old_BL: Tensor,
    mask_BL: Tensor,
    turn_id_BL: Tensor,
    *,
    mean: bool = True,
) -> Tensor:
    """One ratio per turn: the geometric mean of its token ratios, or their product.

    The value is the turn's, the gradient of a token is the turn's ratio times its own.

    >>> logp_BL, mask_BL = torch.tensor([[-1.0, -2.0]]), torch.ones(1, 2).bool()
    >>> old_BL, turn_BL = torch.tensor([[-1.5, -2.0]]), torch.zeros(1, 2).long()
    >>> ratio_turn(logp_BL, old_BL, mask_BL, turn_BL).tolist()
    [[0.25, 0.25]]
    """
    used_BL = torch.where(mask_BL, turn_id_BL, -1)
    turns = int(used_BL.max()) + 1 if used_BL.numel() else 0
    log_BL = torch.where(mask_BL, logp_BL - logp_old_BL, 0.0).detach()
    total_BT = sum_turns(log_BL, used_BL, turns)
    count_BT = sum_turns(torch.ones_like(log_BL), used_BL, turns).clamp(min=1.0)
    level_BT = total_BT / count_BT if mean else total_BT
    return _straight_through(expand_turns(level_BT, used_BL), logp_BL, mask_BL)


def ratio_seq_geo(
    logp_BL: Tensor, logp_old_BL: Tensor, mask_BL: Tensor, turn_id_BL: Tensor
) -> Tensor:
    """One ratio per row, the geometric mean of its token ratios (GSPO).

    s_t = sg[s] exp(logp_t - sg[logp_t]): the value is s, the gradient is s grad logp_t.

    >>> logp_BL, mask_BL = torch.tensor([[-1.0, -2.0]]), torch.ones(1, 2).bool()
    >>> old_BL = torch.tensor([[-1.5, -2.0]])
    >>> ratio_seq_geo(logp_BL, old_BL, mask_BL, torch.zeros(1, 2).long()).tolist()
    [[0.25, 0.25]]
    """
    log_BL = torch.where(mask_BL, logp_BL - logp_old_BL, 0.0).detach()
    length_B1 = mask_BL.sum(1, keepdim=True).clamp(min=1)
    level_BL = (log_BL.sum(1, keepdim=True) / length_B1).expand_as(log_BL)
    return _straight_through(level_BL, logp_BL, mask_BL)


def ratio_seq_prod(
    logp_BL: Tensor, logp_old_BL: Tensor, mask_BL: Tensor, turn_id_BL: Tensor
) -> Tensor:
    """One ratio per row, the product of its token ratios: the exact importance weight.

    Written like `ratio_seq_geo`; with `seq_mean_token_sum` the gradient is the importance-sampled
    policy gradient, and the value counts the row once per token.

    >>> logp_BL, mask_BL = torch.tensor([[-1.0, -2.0]]), torch.ones(1, 2).bool()
    >>> old_BL = torch.tensor([[-1.5, -2.0]])
    >>> ratio_seq_prod(logp_BL, old_BL, mask_BL, torch.zeros(1, 2).long()).tolist()
    [[0.5, 0.5]]
    """
    log_BL = torch.where(mask_BL, logp_BL - logp_old_BL, 0.0).detach()
    level_BL = log_BL.sum(1, keepdim=True).expand_as(log_BL)
    return _straight_through(level_BL, logp_BL, mask_BL)


def pg(ratio_BL: Tensor, x: LossInputs) -> Surrogate:
    """Score-function loss: -A logp. Its gradient is that of -A s at s = 1.

    >>> from coevo.trainers.estimators import from_tokens
    >>> pg(torch.ones(1, 1), from_tokens([[-0.5]], advantage=[2.0])).loss_BL.tolist()
    [[1.0]]
    """
    return Surrogate(-x.advantage_BL * x.logp_BL, torch.ones_like(x.mask_BL))


def ppo_clip(
    ratio_BL: Tensor,
    x: LossInputs,
    *,
    eps_lo: float = 0.2,
    eps_hi: float = 0.2,
) -> Surrogate:
    """Pessimistic clipped loss: max(-A s, -A clip(s, 1 - eps_lo, 1 + eps_hi)).

    >>> from coevo.trainers.estimators import from_tokens
    >>> out = ppo_clip(torch.tensor([[1.5], [1.5]]), from_tokens([[0.0], [0.0]], [1.0, -1.0]))
    >>> out.loss_BL, out.gate_BL.tolist()
    (tensor([[-1.2000],
            [ 1.5000]]), [[False], [True]])
    """
    check_range("eps_lo", eps_lo, 0.0, 1.0)
    check_range("eps_hi", eps_hi, 0.0, float("inf"))
    advantage_BL, clipped_BL = x.advantage_BL, ratio_BL.clamp(1.0 - eps_lo, 1.0 + eps_hi)
    loss_BL = torch.maximum(-advantage_BL * ratio_BL, -advantage_BL * clipped_BL)
    too_high_BL = (advantage_BL > 0) & (ratio_BL > 1.0 + eps_hi)
    too_low_BL = (advantage_BL < 0) & (ratio_BL < 1.0 - eps_lo)
    return Surrogate(loss_BL, ~(too_high_BL | too_low_BL))


def dual_clip(
    ratio_BL: Tensor,
    x: LossInputs,
    *,
    eps_lo: float = 0.2,
    eps_hi: float = 0.2,
    c: float = 3.0,
) -> Surrogate:
    """`ppo_clip` with a ceiling for bad tokens: if A < 0, min(loss, -A c).

    c = 10 is common for language models; the MARS code uses 1.4.

    Raises:
        ConfigError: c is not above 1.

    >>> from coevo.trainers.estimators import from_tokens
    >>> out = dual_clip(torch.tensor([[4.0, 2.0]]), from_tokens([[0.0, 0.0]], [-1.0]))
    >>> out.loss_BL.tolist(), out.gate_BL.tolist()
    ([[3.0, 2.0]], [[False, True]])
    """
    if not c > 1.0:
        raise ConfigError(f"dual_clip: c={c} must be above 1, or on-policy tokens lose gradient")
    loss_BL, gate_BL = ppo_clip(ratio_BL, x, eps_lo=eps_lo, eps_hi=eps_hi)
    bad_BL = x.advantage_BL < 0
    capped_BL = torch.where(bad_BL, torch.minimum(loss_BL, -x.advantage_BL * c), loss_BL)
    return Surrogate(capped_BL, gate_BL & ~(bad_BL & (ratio_BL > c)))


RATIO_LEVEL: Table = {
    "token": ratio_token,
    "turn": ratio_turn,
    "seq_geo": ratio_seq_geo,
    "seq_prod": ratio_seq_prod,
}
KIND: Table = {"pg": pg, "ppo_clip": ppo_clip, "dual_clip": dual_clip}


def _straight_through(level_BL: Tensor, logp_BL: Tensor, mask_BL: Tensor) -> Tensor:
    """Give `level` as value and d logp as gradient, so that exp gives s and s d logp."""
    limited_BL = level_BL.detach().clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return torch.where(mask_BL, limited_BL + logp_BL - logp_BL.detach(), 0.0)
