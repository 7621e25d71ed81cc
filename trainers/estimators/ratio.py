"""Ratio levels: log s of every token, s = pi / pi_old of its token, its turn or its row.

Log-ratios are limited to ±20 before any exponential, so that s stays finite.
"""

from __future__ import annotations

import torch
from torch import Tensor

from coevo.trainers.estimators.broadcast import expand_turns, sum_turns
from coevo.trainers.estimators.option import Table

LOG_RATIO_LIMIT = 20.0
LOGP_FLOOR = -1e4
"""Least log-probability that is computed with; -inf would turn products with 0 into NaN."""


def finite(logp: Tensor) -> Tensor:
    """Raise log-probabilities to `LOGP_FLOOR`; what was below it passes no gradient.

    >>> finite(torch.tensor([-torch.inf, -1.0])).tolist()
    [-10000.0, -1.0]
    """
    return logp.clamp(min=LOGP_FLOOR)


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

    s_t = sg[s] exp(logp_t - sg[logp_t]): the value is s, the gradient is s grad logp_t. Its clip
    bounds are some 1e-4, not the 0.2 of a token.

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


RATIO_LEVEL: Table = {
    "token": ratio_token,
    "turn": ratio_turn,
    "seq_geo": ratio_seq_geo,
    "seq_prod": ratio_seq_prod,
}


def _straight_through(level_BL: Tensor, logp_BL: Tensor, mask_BL: Tensor) -> Tensor:
    """Give `level` as value and d logp as gradient, so that exp gives s and s d logp."""
    limited_BL = level_BL.detach().clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return torch.where(mask_BL, limited_BL + logp_BL - logp_BL.detach(), 0.0)
