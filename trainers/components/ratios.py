"""Ratio levels: log s of every token, s = pi / pi_old of its token, its turn or its context.

Log-ratios are limited to ±20 before any exponential, so that s stays finite.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import choice, config
from coevo.trainers.tensors import expand_turns, sum_turns

LOG_RATIO_LIMIT = 20.0
LOGP_FLOOR = -1e4
"""Least log-probability that is computed with; -inf would turn products with 0 into NaN."""


def finite(logp: Tensor) -> Tensor:
    """Raise log-probabilities to `LOGP_FLOOR`; what was below it passes no gradient.

    >>> finite(torch.tensor([-torch.inf, -1.0])).tolist()
    [-10000.0, -1.0]
    """
    return logp.clamp(min=LOGP_FLOOR)


@config
class TokenRatio:
    """One ratio per token: log s = logp - logp_old.

    >>> logp_CL, mask_CL = torch.tensor([[-1.0]]), torch.ones(1, 1).bool()
    >>> TokenRatio()(logp_CL, logp_CL - 0.5, mask_CL, torch.zeros(1, 1).long()).tolist()
    [[0.5]]
    """

    name: Literal["token_ratio"] = "token_ratio"

    def __call__(
        self, logp_CL: Tensor, logp_old_CL: Tensor, mask_CL: Tensor, turn_CL: Tensor
    ) -> Tensor:
        return torch.where(mask_CL, logp_CL - logp_old_CL, 0.0).clamp(
            -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT
        )


@config
class TurnRatio:
    """One ratio per turn: the geometric mean of its token ratios, or their product.

    The value is the turn's, the gradient of a token is the turn's ratio times its own.

    >>> logp_CL, mask_CL = torch.tensor([[-1.0, -2.0]]), torch.ones(1, 2).bool()
    >>> old_CL, turn_CL = torch.tensor([[-1.5, -2.0]]), torch.zeros(1, 2).long()
    >>> TurnRatio()(logp_CL, old_CL, mask_CL, turn_CL).tolist()
    [[0.25, 0.25]]
    """

    name: Literal["turn_ratio"] = "turn_ratio"
    mean: bool = True

    def __call__(
        self, logp_CL: Tensor, logp_old_CL: Tensor, mask_CL: Tensor, turn_CL: Tensor
    ) -> Tensor:
        used_CL = torch.where(mask_CL, turn_CL, -1)
        turns = int(used_CL.max()) + 1 if used_CL.numel() else 0
        log_CL = torch.where(mask_CL, logp_CL - logp_old_CL, 0.0).detach()
        total_CT = sum_turns(log_CL, used_CL, turns)
        count_CT = sum_turns(torch.ones_like(log_CL), used_CL, turns).clamp(min=1.0)
        level_CT = total_CT / count_CT if self.mean else total_CT
        return _straight_through(expand_turns(level_CT, used_CL), logp_CL, mask_CL)


@config
class SeqGeoRatio:
    """One ratio per row, the geometric mean of its token ratios (GSPO).

    s_t = sg[s] exp(logp_t - sg[logp_t]): the value is s, the gradient is s grad logp_t. Its clip
    bounds are some 1e-4, not the 0.2 of a token.

    >>> logp_CL, mask_CL = torch.tensor([[-1.0, -2.0]]), torch.ones(1, 2).bool()
    >>> old_CL = torch.tensor([[-1.5, -2.0]])
    >>> SeqGeoRatio()(logp_CL, old_CL, mask_CL, torch.zeros(1, 2).long()).tolist()
    [[0.25, 0.25]]
    """

    name: Literal["seq_geo_ratio"] = "seq_geo_ratio"

    def __call__(
        self, logp_CL: Tensor, logp_old_CL: Tensor, mask_CL: Tensor, turn_CL: Tensor
    ) -> Tensor:
        log_CL = torch.where(mask_CL, logp_CL - logp_old_CL, 0.0).detach()
        length_C1 = mask_CL.sum(1, keepdim=True).clamp(min=1)
        level_CL = (log_CL.sum(1, keepdim=True) / length_C1).expand_as(log_CL)
        return _straight_through(level_CL, logp_CL, mask_CL)


@config
class SeqProdRatio:
    """One ratio per row, the product of its token ratios: the exact importance weight.

    Written like `ratio_seq_geo`; with `seq_mean_token_sum` the gradient is the importance-sampled
    policy gradient, and the value counts the row once per token.

    >>> logp_CL, mask_CL = torch.tensor([[-1.0, -2.0]]), torch.ones(1, 2).bool()
    >>> old_CL = torch.tensor([[-1.5, -2.0]])
    >>> SeqProdRatio()(logp_CL, old_CL, mask_CL, torch.zeros(1, 2).long()).tolist()
    [[0.5, 0.5]]
    """

    name: Literal["seq_prod_ratio"] = "seq_prod_ratio"

    def __call__(
        self, logp_CL: Tensor, logp_old_CL: Tensor, mask_CL: Tensor, turn_CL: Tensor
    ) -> Tensor:
        log_CL = torch.where(mask_CL, logp_CL - logp_old_CL, 0.0).detach()
        level_CL = log_CL.sum(1, keepdim=True).expand_as(log_CL)
        return _straight_through(level_CL, logp_CL, mask_CL)


AnyRatio = Annotated[TokenRatio | TurnRatio | SeqGeoRatio | SeqProdRatio, choice()]


def _straight_through(level_CL: Tensor, logp_CL: Tensor, mask_CL: Tensor) -> Tensor:
    """Return `level` as value and d logp as gradient, so that exp gives s and s d logp."""
    limited_CL = level_CL.detach().clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return torch.where(mask_CL, limited_CL + logp_CL - logp_CL.detach(), 0.0)
