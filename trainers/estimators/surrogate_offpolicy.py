"""Surrogates for tokens that another policy may have written: gates and weights, no ratio to trust.

All follow grad logp with a constant in front, except `remix`, which clips around the old ratio.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.component import LossComponent
from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.ratio import LOG_RATIO_LIMIT, SeqGeoRatio
from coevo.trainers.estimators.surrogate_clip import SurrogateLoss, clip_between

Side = Literal["none", "one", "two", "ring"]
Weight = Literal["none", "is", "seq", "exp"]


@config
class Rec(LossComponent):
    """Group-relative REINFORCE off policy (REC, RED): -A w logp inside a gate.

    Gates on s: `one` keeps what the pessimistic clip keeps (A >= 0 and s <= 1 + eps_hi, or A <= 0
    and s >= 1 - eps_lo); `two` keeps 1 - eps_lo <= s <= 1 + eps_hi, which also drops tokens that
    need no bound; `ring` adds to `two` what is far out on the harmless side (A >= 0 and
    s <= 1 - ring_lo, or A <= 0 and s >= 1 + ring_hi); `none` keeps all.
    Weights, all constants: `none` 1; `is` s, then `one` has the gradient of `ppo_clip`; `seq` the
    geometric mean over the row; `exp` exp(A / temperature), RED-Weight with side `none`.
    Source: REC series in Trinity-RFT.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0, -1.0, -1.0]])
    >>> s_CL = torch.tensor([[1.5, 1.0, 0.3]])
    >>> [Rec(side=side)(s_CL, x).unclipped_CL.tolist()[0] for side in ("one", "two", "ring")]
    [[False, True, True], [False, True, False], [False, True, True]]
    """

    name: Literal["rec"] = "rec"
    side: Side = "one"
    weight: Weight = "none"
    eps_lo: Annotated[float, real(0, 1)] = 0.2
    eps_hi: Annotated[float, real(0)] = 0.2
    ring_lo: Annotated[float, real(0)] = 0.6
    ring_hi: Annotated[float, real(0)] = 2.0
    temperature: Annotated[float, real(above=0)] = 1.0

    def __post_init__(self) -> None:
        if not (self.ring_lo >= self.eps_lo and self.ring_hi >= self.eps_hi):
            raise ConfigError(
                f"rec: the ring ({self.ring_lo}, {self.ring_hi}) lies inside the bounds "
                f"({self.eps_lo}, {self.eps_hi})"
            )

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
        a_CL = x.advantage_CL
        inside_CL = (ratio_CL >= 1.0 - self.eps_lo) & (ratio_CL <= 1.0 + self.eps_hi)
        keep_CL = {
            "none": torch.ones_like(x.mask_CL),
            "one": _harmless(a_CL, ratio_CL <= 1.0 + self.eps_hi, ratio_CL >= 1.0 - self.eps_lo),
            "two": inside_CL,
            "ring": inside_CL
            | _harmless(a_CL, ratio_CL <= 1.0 - self.ring_lo, ratio_CL >= 1.0 + self.ring_hi),
        }[self.side]
        weight_CL = _rec_weight(self.weight, ratio_CL, x, self.temperature)
        return SurrogateLoss(torch.where(keep_CL, -a_CL * weight_CL * x.logp_CL, 0.0), keep_CL)


@config
class Topr(LossComponent):
    """Tapered off-policy REINFORCE (TOPR): -alpha A logp, alpha = clip(s, 0, 1) if A <= 0 else 1.

    Good rows are imitated at full weight, bad ones only as long as the policy still writes them.
    The paper's s is that of the whole row: ratio level `seq_prod_ratio`.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0], [-1.0]], advantage=[1.0, -1.0])
    >>> Topr()(torch.full((2, 1), 0.5), x).loss_CL.tolist()
    [[1.0], [-0.5]]
    """

    name: Literal["topr"] = "topr"

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
        tapered_CL = ratio_CL.detach().clamp(0.0, 1.0)
        alpha_CL = torch.where(x.advantage_CL <= 0, tapered_CL, 1.0)
        return SurrogateLoss(-alpha_CL * x.advantage_CL * x.logp_CL, torch.ones_like(x.mask_CL))


@config
class Opmd(LossComponent):
    """Online policy mirror descent: -A logp + tau (log s)^2.

    `half` writes tau / 2 (Kimi, ROLL; Trinity absorbs the half); `scaled` is Trinity's first form,
    -A logp / (1 + tau), without the square. The square has no gradient where s = 1, so the first
    step on fresh samples is plain policy gradient. With ratio level `seq_prod_ratio` and
    `seq_mean_token_sum` the gradient is that of the squared log-ratio of the row.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x, s_CL = from_tokens([[-1.0]]), torch.ones(1, 1).exp()
    >>> [Opmd(tau=0.5, form=f)(s_CL, x).loss_CL.item() for f in ("square", "half")]
    [1.5, 1.25]
    """

    acts_at_zero = True
    name: Literal["opmd"] = "opmd"
    tau: Annotated[float, real(0)] = 0.1
    form: Literal["square", "half", "scaled"] = "square"

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
        plain_CL, every_CL = -x.advantage_CL * x.logp_CL, torch.ones_like(x.mask_CL)
        if self.form == "scaled":
            return SurrogateLoss(plain_CL / (1.0 + self.tau), every_CL)
        share = self.tau / 2 if self.form == "half" else self.tau
        return SurrogateLoss(plain_CL + share * ratio_CL.log() ** 2, every_CL)


@config
class RemixClip(LossComponent):
    """Clip replayed rows around where this update started (ReMix).

    -min(r A, clip(r, c - eps_lo, c + eps_hi) A), r = pi / pi_behaviour = s c,
    c = pi_old / pi_behaviour, constant. On fresh rows c = 1, which is `ppo_clip`. The ratio
    already corrects for the sampler,
    so no other correction belongs beside it.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[0.0]], logp_behaviour_CL=-torch.tensor([[1.5]]).log())
    >>> round(RemixClip()(torch.full((1, 1), 1.2), x).loss_CL.item(), 4)
    -1.7
    """

    corrects_sampler = True
    name: Literal["remix_clip"] = "remix_clip"
    eps_lo: Annotated[float, real(0)] = 0.2
    eps_hi: Annotated[float, real(0)] = 0.2

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
        log_CL = x.logp_old_CL - x.needed("logp_behaviour_CL", self.name)
        centre_CL = log_CL.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()
        low_CL, high_CL = centre_CL - self.eps_lo, centre_CL + self.eps_hi
        return clip_between(ratio_CL * centre_CL, x.advantage_CL, low_CL, high_CL)


def _harmless(a_CL: Tensor, low_CL: Tensor, high_CL: Tensor) -> Tensor:
    """Keep low ratios of good tokens and high ratios of bad ones."""
    return ((a_CL >= 0) & low_CL) | ((a_CL <= 0) & high_CL)


def _rec_weight(weight: Weight, ratio_CL: Tensor, x: LossInputs, temperature: float) -> Tensor:
    if weight == "is":
        return ratio_CL.detach()
    if weight == "seq":
        return SeqGeoRatio()(x.logp_CL, x.logp_old_CL, x.mask_CL, x.turn_id_CL).detach().exp()
    if weight == "exp":
        if not temperature > 0.0:
            raise ConfigError(f"rec: temperature={temperature} must be above 0")
        limit = LOG_RATIO_LIMIT
        return (x.advantage_CL / temperature).clamp(-limit, limit).exp()
    return torch.ones_like(ratio_CL)
