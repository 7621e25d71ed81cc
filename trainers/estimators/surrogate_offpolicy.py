"""Surrogates for tokens that another policy may have written: gates and weights, no ratio to trust.

All follow grad logp with a constant in front, except `remix`, which clips around the old ratio.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.option import check_range
from coevo.trainers.estimators.ratio import LOG_RATIO_LIMIT, ratio_seq_geo
from coevo.trainers.estimators.surrogate_clip import INFINITY, Surrogate, clip_between

Side = Literal["none", "one", "two", "ring"]
Weight = Literal["none", "is", "seq", "exp"]


def rec(
    ratio_BL: Tensor,
    x: LossInputs,
    *,
    side: Side = "one",
    weight: Weight = "none",
    eps_lo: float = 0.2,
    eps_hi: float = 0.2,
    ring_lo: float = 0.6,
    ring_hi: float = 2.0,
    temperature: float = 1.0,
) -> Surrogate:
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
    >>> s_BL = torch.tensor([[1.5, 1.0, 0.3]])
    >>> [rec(s_BL, x, side=side).gate_BL.tolist()[0] for side in ("one", "two", "ring")]
    [[False, True, True], [False, True, False], [False, True, True]]
    """
    check_range("eps_lo", eps_lo, 0.0, 1.0)
    check_range("eps_hi", eps_hi, 0.0, INFINITY)
    if not (ring_lo >= eps_lo and ring_hi >= eps_hi):
        raise ConfigError(
            f"rec: the ring ({ring_lo}, {ring_hi}) lies inside the bounds ({eps_lo}, {eps_hi})"
        )
    a_BL = x.advantage_BL
    inside_BL = (ratio_BL >= 1.0 - eps_lo) & (ratio_BL <= 1.0 + eps_hi)
    keep_BL = {
        "none": torch.ones_like(x.mask_BL),
        "one": _harmless(a_BL, ratio_BL <= 1.0 + eps_hi, ratio_BL >= 1.0 - eps_lo),
        "two": inside_BL,
        "ring": inside_BL | _harmless(a_BL, ratio_BL <= 1.0 - ring_lo, ratio_BL >= 1.0 + ring_hi),
    }[side]
    weight_BL = _rec_weight(weight, ratio_BL, x, temperature)
    return Surrogate(torch.where(keep_BL, -a_BL * weight_BL * x.logp_BL, 0.0), keep_BL)


def topr(ratio_BL: Tensor, x: LossInputs) -> Surrogate:
    """Tapered off-policy REINFORCE (TOPR): -alpha A logp, alpha = clip(s, 0, 1) if A <= 0 else 1.

    Good rows are imitated at full weight, bad ones only as long as the policy still writes them.
    The paper's s is that of the whole row: ratio level `seq_prod`.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0], [-1.0]], advantage=[1.0, -1.0])
    >>> topr(torch.full((2, 1), 0.5), x).loss_BL.tolist()
    [[1.0], [-0.5]]
    """
    tapered_BL = ratio_BL.detach().clamp(0.0, 1.0)
    alpha_BL = torch.where(x.advantage_BL <= 0, tapered_BL, 1.0)
    return Surrogate(-alpha_BL * x.advantage_BL * x.logp_BL, torch.ones_like(x.mask_BL))


def opmd(
    ratio_BL: Tensor,
    x: LossInputs,
    *,
    tau: float = 0.1,
    form: Literal["square", "half", "scaled"] = "square",
) -> Surrogate:
    """Online policy mirror descent: -A logp + tau (log s)^2.

    `half` writes tau / 2 (Kimi, ROLL; Trinity absorbs the half); `scaled` is Trinity's first form,
    -A logp / (1 + tau), without the square. The square has no gradient where s = 1, so the first
    step on fresh samples is plain policy gradient. With ratio level `seq_prod` and
    `seq_mean_token_sum` the gradient is that of the squared log-ratio of the row.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x, s_BL = from_tokens([[-1.0]]), torch.ones(1, 1).exp()
    >>> [opmd(s_BL, x, tau=0.5, form=f).loss_BL.item() for f in ("square", "half")]
    [1.5, 1.25]
    """
    check_range("tau", tau, 0.0, INFINITY)
    plain_BL, every_BL = -x.advantage_BL * x.logp_BL, torch.ones_like(x.mask_BL)
    if form == "scaled":
        return Surrogate(plain_BL / (1.0 + tau), every_BL)
    share = tau / 2 if form == "half" else tau
    return Surrogate(plain_BL + share * ratio_BL.log() ** 2, every_BL)


def remix(
    ratio_BL: Tensor, x: LossInputs, *, eps_lo: float = 0.2, eps_hi: float = 0.2
) -> Surrogate:
    """Clip replayed rows around where this update started (ReMix).

    -min(r A, clip(r, c - eps_lo, c + eps_hi) A), r = pi / pi_roll = s c, c = pi_old / pi_roll,
    constant. On fresh rows c = 1, which is `ppo_clip`. The ratio already corrects for the sampler,
    so no other correction belongs beside it.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[0.0]], logp_roll_BL=-torch.tensor([[1.5]]).log())
    >>> round(remix(torch.full((1, 1), 1.2), x).loss_BL.item(), 4)
    -1.7
    """
    check_range("eps_lo", eps_lo, 0.0, INFINITY)
    check_range("eps_hi", eps_hi, 0.0, INFINITY)
    log_BL = x.logp_old_BL - x.needed("logp_roll_BL", "remix")
    centre_BL = log_BL.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()
    low_BL, high_BL = centre_BL - eps_lo, centre_BL + eps_hi
    return clip_between(ratio_BL * centre_BL, x.advantage_BL, low_BL, high_BL)


def _harmless(a_BL: Tensor, low_BL: Tensor, high_BL: Tensor) -> Tensor:
    """Keep low ratios of good tokens and high ratios of bad ones."""
    return ((a_BL >= 0) & low_BL) | ((a_BL <= 0) & high_BL)


def _rec_weight(weight: Weight, ratio_BL: Tensor, x: LossInputs, temperature: float) -> Tensor:
    if weight == "is":
        return ratio_BL.detach()
    if weight == "seq":
        return ratio_seq_geo(x.logp_BL, x.logp_old_BL, x.mask_BL, x.turn_id_BL).detach().exp()
    if weight == "exp":
        if not temperature > 0.0:
            raise ConfigError(f"rec: temperature={temperature} must be above 0")
        limit = LOG_RATIO_LIMIT
        return (x.advantage_BL / temperature).clamp(-limit, limit).exp()
    return torch.ones_like(ratio_BL)
