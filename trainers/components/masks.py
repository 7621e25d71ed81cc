"""Token masks: which tokens of a mini-batch teach, decided from all of them without gradient."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import choice, config, real
from coevo.trainers.batch import Batch
from coevo.trainers.components.base import INFINITY, TokenMask, check_range
from coevo.trainers.components.ratios import TokenRatio
from coevo.trainers.components.surrogates import PpoClip


def covariance(x: Batch) -> Tensor:
    """Compute (A - mean A)(logp - mean logp) of every token, means over the mask; 0 outside.

    Its mean is what first-order theory says entropy falls by (Entropy Mechanism).

    >>> covariance(Batch.from_tokens([[-1.0], [-3.0]], advantage=[1.0, -1.0])).tolist()
    [[1.0], [1.0]]
    """
    used = x.mask_CL.sum().clamp(min=1)
    a_CL, logp_CL = x.advantage_CL.to(x.logp_CL.dtype), x.logp_CL.detach()
    mean_a = torch.where(x.mask_CL, a_CL, 0.0).sum() / used
    mean_logp = torch.where(x.mask_CL, logp_CL, 0.0).sum() / used
    return torch.where(x.mask_CL, (a_CL - mean_a) * (logp_CL - mean_logp), 0.0)


def by_covariance(x: Batch, open_CL: Tensor) -> Tensor:
    """List the places of open tokens, [N] into the flat table, by rising covariance.

    Ties go by log-probability: neither the order of rows nor padding decides.

    >>> x = Batch.from_tokens([[-1.0], [-3.0], [-1.0]], advantage=[2.0, -1.0, -1.0])
    >>> by_covariance(x, x.mask_CL).tolist()
    [2, 0, 1]
    """
    at_N = open_CL.flatten().nonzero().squeeze(1)
    for key_CL in (x.logp_CL.detach(), covariance(x)):
        at_N = at_N[key_CL.flatten()[at_N].argsort(stable=True)]
    return at_N


def marked(mask_CL: Tensor, at_N: Tensor) -> Tensor:
    """Return a table that is True at these places of the flat one.

    >>> marked(torch.ones(2, 2).bool(), torch.tensor([3])).tolist()
    [[False, False], [False, True]]
    """
    flat_N = torch.zeros_like(mask_CL.flatten())
    flat_N[at_N] = True
    return flat_N.view_as(mask_CL)


@config
class ClipCov(TokenMask):
    """Silence some tokens at random that would cost most entropy (Clip-Cov).

    Among tokens with lb < cov < ub that `ppo_clip` with these bounds has not clipped already,
    max(1, floor(ratio n)) of the n tokens of the mini-batch do not teach. The authors set the
    clip of the loss itself to 1/1. lb and ub suppose advantages of unit variance: with centred
    rewards in [0, 1] hardly any token qualifies. Source: code of Entropy Mechanism and verl.

    >>> x = Batch.from_tokens([[0.0], [-4.0], [-2.0]], advantage=[1.0, -1.0, 0.0])
    >>> ClipCov(ratio=0.7)(x, torch.Generator().manual_seed(0)).tolist()
    [[False], [False], [True]]
    """

    name: Literal["clip_cov"] = "clip_cov"
    ratio: Annotated[float, real(0, 1)] = 2e-4
    lb: Annotated[float, real()] = 1.0
    ub: Annotated[float, real()] = 5.0
    eps_lo: Annotated[float, real(0, 1)] = 1.0
    eps_hi: Annotated[float, real(0)] = 1.0

    def __post_init__(self) -> None:
        check_range("lb", self.lb, -INFINITY, self.ub)

    def __call__(self, x: Batch, generator: torch.Generator | None) -> Tensor:
        s_CL = TokenRatio()(x.logp_CL, x.logp_old_CL, x.mask_CL, x.turn_CL).exp()
        free_CL = PpoClip(eps_lo=self.eps_lo, eps_hi=self.eps_hi)(s_CL, x).unclipped_CL
        cov_CL = covariance(x)
        at_N = by_covariance(x, x.mask_CL & free_CL & (cov_CL > self.lb) & (cov_CL < self.ub))
        device = "cpu" if generator is None else generator.device
        order_N = torch.randperm(len(at_N), generator=generator, device=device).to(at_N.device)
        return ~marked(x.mask_CL, at_N[order_N[: whole_share(self.ratio, x.mask_CL)]])


AnyTokenMask = Annotated[ClipCov, choice(TokenMask)]


def whole_share(share: float, mask_CL: Tensor) -> int:
    """Return max(1, floor(share n)) for a mask of n tokens; 0 for an empty one.

    >>> whole_share(0.4, torch.ones(1, 6).bool()), whole_share(2e-4, torch.ones(1, 6).bool())
    (2, 1)
    """
    tokens = int(mask_CL.sum())
    return min(tokens, max(1, int(share * tokens)))
