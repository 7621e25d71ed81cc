"""Corrections: weights for tokens whose sampler and trainer disagree about their probability.

w = exp(logp_old - logp_behaviour), where "old" is the trainer's recomputation and "behaviour" is
what the sampler reported: bounds are on trainer / sampler. The weight multiplies the loss and
carries no gradient; a rejected token leaves the mask. When logp_old is the sampler's own number,
leave `is_correction` out: the ratio already corrects. Corrections see a whole mini-batch, so
`mean=True`, which divides the weights by their mean over what is kept, does not depend on
micro-batches. ConfigError: the sampler's log-probabilities are missing, or bounds are turned round.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import choice, config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.components.base import Correction, check_range
from coevo.trainers.components.ratios import LOG_RATIO_LIMIT, finite


@config
class TokenTis:
    """Truncated importance sampling per token: clip(w, floor, cap).

    verl has no floor; OpenRLHF clamps to [0.5, 5].

    >>> TokenTis()(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1).bool()).weight_CL.tolist()
    [[2.0]]
    """

    name: Literal["token_tis"] = "token_tis"
    cap: Annotated[float, real(0, infinite=True)] = 2.0
    floor: Annotated[float, real(0)] = 0.0
    mean: bool = False

    def __post_init__(self) -> None:
        check_range("floor", self.floor, 0.0, self.cap)

    def __call__(
        self, logp_old_CL: Tensor, logp_behaviour_CL: Tensor | None, mask_CL: Tensor
    ) -> Correction:
        log_CL = _log_weight(logp_old_CL, logp_behaviour_CL, mask_CL, "token_tis")
        every_CL = torch.ones_like(mask_CL)
        return _weighed(log_CL.exp().clamp(self.floor, self.cap), every_CL, mask_CL, self.mean)


@config
class TokenMis:
    """Masked importance sampling per token (IcePop): w where lo <= w <= hi, else rejected.

    >>> old_CL, mask_CL = torch.tensor([[0.0, 2.0]]), torch.ones(1, 2).bool()
    >>> TokenMis()(old_CL, torch.zeros(1, 2), mask_CL).keep_CL.tolist()
    [[True, False]]
    """

    name: Literal["token_mis"] = "token_mis"
    lo: Annotated[float, real(0)] = 0.5
    hi: Annotated[float, real(0, infinite=True)] = 5.0
    mean: bool = False

    def __post_init__(self) -> None:
        check_range("lo", self.lo, 0.0, self.hi)

    def __call__(
        self, logp_old_CL: Tensor, logp_behaviour_CL: Tensor | None, mask_CL: Tensor
    ) -> Correction:
        weight_CL = _log_weight(logp_old_CL, logp_behaviour_CL, mask_CL, "token_mis").exp()
        keep_CL = (weight_CL >= self.lo) & (weight_CL <= self.hi)
        return _weighed(weight_CL, keep_CL, mask_CL, self.mean)


AnyCorrection = Annotated[TokenTis | TokenMis, choice()]


def effective_share(total: float, square: float, tokens: float) -> float:
    """Compute the effective sample size per token, 1 / mean((w / mean w)^2), from sums over tokens.

    A rejected token counts with weight 0; where all are rejected nothing is effective.

    >>> effective_share(2.0, 2.0, 4.0)
    0.5
    """
    return total**2 / (tokens * square) if tokens * square > 0 else 0.0


def _log_weight(
    logp_old_CL: Tensor, logp_behaviour_CL: Tensor | None, mask_CL: Tensor, name: str
) -> Tensor:
    """Return log w, limited to ±20, 0 outside the mask."""
    if logp_behaviour_CL is None:
        raise ConfigError(
            f"correct {name!r} needs logp_behaviour_CL, the sampler's log-probabilities"
        )
    dtype = torch.promote_types(logp_old_CL.dtype, torch.float32)
    log_CL = finite(logp_old_CL.detach().to(dtype)) - finite(logp_behaviour_CL.detach().to(dtype))
    return torch.where(mask_CL, log_CL, 0.0).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)


def _weighed(weight_CL: Tensor, keep_CL: Tensor, mask_CL: Tensor, mean: bool) -> Correction:
    """Drop what is rejected and, if asked, divide by the mean over kept tokens."""
    kept_CL = torch.where(keep_CL, weight_CL, 0.0)
    if mean:
        share_CL = (mask_CL & keep_CL).to(weight_CL.dtype)
        level = (kept_CL * share_CL).sum() / share_CL.sum().clamp(min=1)
        kept_CL = torch.where(level > 0, kept_CL / level, kept_CL)
    return Correction(kept_CL, keep_CL)
