"""HAPO: tokens are treated by how uncertain the policy was, an entropy score h in [-1, 1]."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.gates import quantile
from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.option import check_range
from coevo.trainers.estimators.surrogate_clip import INFINITY, Surrogate, capped, clip_between


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
    check_range("share", share, 0.0, 1.0)
    log_N = _log(entropy_N)
    pivot = quantile(log_N, share, nearest=True)
    gap_N = log_N - pivot
    spread = (gap_N**2).sum().div(max(len(gap_N), 1)).sqrt()
    scaled_N = torch.where(spread > 0, gap_N / spread.clamp(min=1e-12), 0.0)
    ends = torch.cat([scaled_N, scaled_N.new_zeros(1)])
    return EntropyScale(pivot, spread, -ends.min(), ends.max())


def survey_hapo(x: LossInputs, generator: torch.Generator | None, *, share: float = 0.8) -> Tensor:
    """Score every token of a mini-batch by its entropy.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0] * 3], entropy_BL=torch.tensor([[0.25, 1.0, 2.0]]))
    >>> survey_hapo(x, None, share=0.5).tolist()
    [[-1.0, 0.0, 1.0]]
    """
    entropy_BL = x.needed("entropy_BL", "hapo").detach()
    score_BL = entropy_scale(entropy_BL[x.mask_BL], share).score(entropy_BL)
    return torch.where(x.mask_BL, score_BL, 0.0)


def hapo(
    ratio_BL: Tensor,
    x: LossInputs,
    *,
    eps_lo: float = 0.2,
    eps_hi: float = 0.2,
    c: float = 10.0,
    share: float = 0.8,
    redistribute: bool = True,
) -> Surrogate:
    """Clip and advantage by entropy (HAPO), with the ceiling of `dual_clip`.

    h <= 0 widens the clip below, [1 - eps_lo (1 - h), 1 + eps_hi]; h > 0 widens it above,
    [1 - eps_lo, 1 + eps_hi (1 + h)]. A becomes A (1 + h) for h > 0 outside the neutral zone
    1 - eps_lo / 2 < s < 1 + eps_hi / 2 and for h <= 0 inside of it. h comes from `survey_hapo`.
    The released scale divides a negative h by a negative minimum, so that h >= 0 for every token
    and none counts as certain; here certain tokens are negative.

    Raises:
        ConfigError: A bound would fall below 0, or c is not above 1.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import from_tokens
    >>> x = replace(from_tokens([[0.0, 0.0]]), surveyed={"hapo": torch.tensor([[-0.5, 0.5]])})
    >>> [round(v, 4) for v in hapo(torch.tensor([[1.0, 1.5]]), x).loss_BL[0].tolist()]
    [-0.5, -1.95]
    """
    check_range("eps_lo", eps_lo, 0.0, 0.5)  # doubled at h = -1
    check_range("eps_hi", eps_hi, 0.0, INFINITY)
    if not c > 1.0:
        raise ConfigError(f"hapo: c={c} must be above 1, or on-policy tokens lose gradient")
    h_BL, a_BL = x.surveyed["hapo"].to(ratio_BL.dtype), x.advantage_BL
    if redistribute:
        a_BL = redistributed(a_BL, h_BL, ratio_BL.detach(), eps_lo, eps_hi)
    low_BL = 1.0 - eps_lo * (1.0 - h_BL.clamp(max=0.0))
    high_BL = 1.0 + eps_hi * (1.0 + h_BL.clamp(min=0.0))
    return capped(clip_between(ratio_BL, a_BL, low_BL, high_BL), ratio_BL, a_BL, c)


def redistributed(
    a_BL: Tensor, h_BL: Tensor, ratio_BL: Tensor, eps_lo: float, eps_hi: float
) -> Tensor:
    """Give A (1 + h) where the token is uncertain and moving, or certain and at rest; else A.

    >>> h_BL, a_BL = torch.tensor([[0.5, 0.5, -0.5, -0.5]]), torch.ones(1, 4)
    >>> redistributed(a_BL, h_BL, torch.tensor([[1.0, 1.2, 1.0, 1.2]]), 0.2, 0.2).tolist()
    [[1.0, 1.5, 0.5, 1.0]]
    """
    at_rest_BL = (ratio_BL > 1.0 - eps_lo / 2) & (ratio_BL < 1.0 + eps_hi / 2)
    return torch.where((h_BL > 0) ^ at_rest_BL, a_BL * (1.0 + h_BL), a_BL)


def _log(entropy: Tensor) -> Tensor:
    return entropy.clamp(min=1e-8).log()
