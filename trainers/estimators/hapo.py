"""HAPO: tokens are treated by how uncertain the policy was, an entropy score h in [-1, 1]."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.trainers.estimators.component import LossComponent
from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.surrogate_clip import SurrogateLoss, capped, clip_between
from coevo.trainers.estimators.token_masks import quantile


class EntropyScale(NamedTuple):
    """What turns an entropy into a score: pivot, spread and the ends of both sides."""

    pivot: Tensor
    """Quantile of log H."""
    spread: Tensor
    """Root mean square of log H - pivot."""
    least: Tensor
    """Size of the lowest spread-out value, which gets -1; 0 if there is none below the pivot."""
    most: Tensor
    """The highest one, which gets 1; 0 if there is none above."""

    def score(self, entropy: Tensor) -> Tensor:
        """Score entropies of these tokens or of later ones, which may leave [-1, 1].

        >>> scale = entropy_scale(torch.tensor([0.1, 0.5, 1.0, 2.0, 1.0]))
        >>> [round(v, 4) for v in scale.score(torch.tensor([0.1, 1.0, 4.0])).tolist()]
        [-1.0, 0.0, 2.0]
        """
        raw = _log(entropy) - self.pivot
        spread_out = torch.where(self.spread > 0, raw / self.spread.clamp(min=1e-12), 0.0)
        side = torch.where(spread_out < 0, self.least, self.most)
        return torch.where(side > 0, spread_out / side.clamp(min=1e-12), 0.0)


def entropy_scale(entropy_N: Tensor, share: float = 0.8) -> EntropyScale:
    """Measure the scale of some tokens' entropies: x = log max(H, 1e-8), pivot its quantile.

    >>> h_N = torch.tensor([0.01, 0.1, 0.5, 2.0, 1.0])
    >>> [round(v, 4) for v in entropy_scale(h_N).score(h_N).tolist()]
    [-1.0, -0.5, -0.1505, 1.0, 0.0]
    """
    log_N = _log(entropy_N)
    pivot = quantile(log_N, share, nearest=True)
    gap_N = log_N - pivot
    spread = (gap_N**2).sum().div(max(len(gap_N), 1)).sqrt()
    scaled_N = torch.where(spread > 0, gap_N / spread.clamp(min=1e-12), 0.0)
    ends = torch.cat([scaled_N, scaled_N.new_zeros(1)])
    return EntropyScale(pivot, spread, -ends.min(), ends.max())


@config
class Hapo(LossComponent):
    """Clip and advantage by entropy (HAPO), with the ceiling of `dual_clip`.

    h <= 0 widens the clip below, [1 - eps_lo (1 - h), 1 + eps_hi]; h > 0 widens it above,
    [1 - eps_lo, 1 + eps_hi (1 + h)]. A becomes A (1 + h) for h > 0 outside the neutral zone, which
    reaches half as far from 1 as these bounds (starriver030515/HAPO@7671dde), and for h <= 0 inside
    of it. h comes from `batch_statistics`.
    The released scale divides a negative h by a negative minimum, so that h >= 0 for every token
    and none counts as certain; here certain tokens are negative.

    Raises:
        ConfigError: A bound would fall below 0, or c is not above 1.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import from_tokens
    >>> x = replace(from_tokens([[0.0, 0.0]]), statistics={"hapo": torch.tensor([[-0.5, 0.5]])})
    >>> [round(v, 4) for v in Hapo()(torch.tensor([[1.0, 1.5]]), x).loss_CL[0].tolist()]
    [-0.5, -1.95]
    """

    needs_batch_statistics = True
    name: Literal["hapo"] = "hapo"
    eps_lo: Annotated[float, real(0, 0.5)] = 0.2
    eps_hi: Annotated[float, real(0)] = 0.2
    c: Annotated[float, real(above=1)] = 10.0
    share: Annotated[float, real(0, 1)] = 0.8
    redistribute: bool = True

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
        h_CL, a_CL = x.statistics[self.name].to(ratio_CL.dtype), x.advantage_CL
        lo_CL = self.eps_lo * (1.0 - h_CL.clamp(max=0.0))
        hi_CL = self.eps_hi * (1.0 + h_CL.clamp(min=0.0))
        if self.redistribute:
            a_CL = redistributed(a_CL, h_CL, ratio_CL.detach(), lo_CL, hi_CL)
        clipped = clip_between(ratio_CL, a_CL, 1.0 - lo_CL, 1.0 + hi_CL)
        return capped(clipped, ratio_CL, a_CL, self.c)

    def batch_statistics(self, x: LossInputs, generator: torch.Generator | None) -> Tensor:
        """Score every token of a mini-batch by its entropy.

        >>> from coevo.trainers.estimators import from_tokens
        >>> x = from_tokens([[-1.0] * 3], entropy_CL=torch.tensor([[0.25, 1.0, 2.0]]))
        >>> Hapo(share=0.5).batch_statistics(x, None).tolist()
        [[-1.0, 0.0, 1.0]]
        """
        entropy_CL = x.needed("entropy_CL", self.name).detach()
        score_CL = entropy_scale(entropy_CL[x.mask_CL], self.share).score(entropy_CL)
        return torch.where(x.mask_CL, score_CL, 0.0)


def redistributed(
    a_CL: Tensor, h_CL: Tensor, ratio_CL: Tensor, lo_CL: Tensor, hi_CL: Tensor
) -> Tensor:
    """Return A (1 + h) where the token is uncertain and moving, or certain and at rest; else A.

    >>> h_CL, a_CL = torch.tensor([[0.5, 0.5, -0.5, -0.5]]), torch.ones(1, 4)
    >>> eps_CL = torch.full((1, 4), 0.2)
    >>> redistributed(a_CL, h_CL, torch.tensor([[1.0, 1.2, 1.0, 1.2]]), eps_CL, eps_CL).tolist()
    [[1.0, 1.5, 0.5, 1.0]]
    """
    at_rest_CL = (ratio_CL > 1.0 - lo_CL / 2) & (ratio_CL < 1.0 + hi_CL / 2)
    return torch.where((h_CL > 0) ^ at_rest_CL, a_CL * (1.0 + h_CL), a_CL)


def _log(entropy: Tensor) -> Tensor:
    return entropy.clamp(min=1e-8).log()
