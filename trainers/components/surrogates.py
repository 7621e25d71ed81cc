"""Surrogates: the loss of every token. Aggregations: how tokens become one number.

`PpoClip` and its kin bound how far one update can move a token. `Rec`, `Topr`, `Opmd` and
`RemixClip` are for tokens that another policy may have written: they follow grad logp with a
constant in front, except the last, which clips around the old ratio.

Denominators of an aggregation count all micro-batches of an update, so the sum of the shares of
micro-batches equals the value of the full batch, whatever the split and the padding. Do not divide
by the number of accumulation steps on top, and where processes average their gradients multiply by
their number.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.config import choice, config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.batch import Batch
from coevo.trainers.components.base import Denominators, Surrogate, SurrogateLoss
from coevo.trainers.components.ratios import LOG_RATIO_LIMIT, SeqGeoRatio
from coevo.trainers.tensors import quantile

Side = Literal["none", "one", "two", "ring"]
Weight = Literal["none", "is", "seq", "exp"]


# ---- Clipped ---------------------------------------------------------------------------------


@config
class PolicyGradient(Surrogate):
    """Score-function loss: -A logp. Its gradient is that of -A s at s = 1.

    >>> x = Batch.from_tokens([[-0.5]], advantage=[2.0])
    >>> PolicyGradient()(torch.ones(1, 1), x).loss_CL.tolist()
    [[1.0]]
    """

    name: Literal["policy_gradient"] = "policy_gradient"

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        return SurrogateLoss(-x.advantage_CL * x.logp_CL, torch.ones_like(x.mask_CL))


@config
class Unclipped(Surrogate):
    """Importance-weighted loss without any bound: -A s. KL-Cov adds its penalty to this one.

    >>> Unclipped()(torch.full((1, 1), 1.5), Batch.from_tokens([[-0.5]], [2.0])).loss_CL.tolist()
    [[-3.0]]
    """

    name: Literal["unclipped"] = "unclipped"

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        return SurrogateLoss(-x.advantage_CL * ratio_CL, torch.ones_like(x.mask_CL))


@config
class PpoClip(Surrogate):
    """Pessimistic clipped loss: max(-A s, -A clip(s, 1 - eps_lo, 1 + eps_hi)).

    >>> x = Batch.from_tokens([[0.0], [0.0]], advantage=[1.0, -1.0])
    >>> out = PpoClip()(torch.tensor([[1.5], [1.5]]), x)
    >>> out.loss_CL, out.unclipped_CL.tolist()
    (tensor([[-1.2000],
            [ 1.5000]]), [[False], [True]])
    """

    name: Literal["ppo_clip"] = "ppo_clip"
    eps_lo: Annotated[float, real(0, 1)] = 0.2
    eps_hi: Annotated[float, real(0)] = 0.2

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        return clip_between(ratio_CL, x.advantage_CL, 1.0 - self.eps_lo, 1.0 + self.eps_hi)


def clip_between(
    ratio_CL: Tensor, advantage_CL: Tensor, low: Tensor | float, high: Tensor | float
) -> SurrogateLoss:
    """Compute max(-A s, -A clip(s, low, high)) with bounds that may differ from token to token.

    >>> s_CL, a_CL = torch.tensor([[1.8, 1.8]]), torch.tensor([[1.0, -1.0]])
    >>> clip_between(s_CL, a_CL, torch.tensor([[1.3, 1.3]]), 1.5).loss_CL.tolist()
    [[-1.5, 1.7999999523162842]]
    """
    low_CL = torch.as_tensor(low, dtype=ratio_CL.dtype, device=ratio_CL.device)
    high_CL = torch.as_tensor(high, dtype=ratio_CL.dtype, device=ratio_CL.device)
    clipped_CL = ratio_CL.clamp(low_CL, high_CL)
    loss_CL = torch.maximum(-advantage_CL * ratio_CL, -advantage_CL * clipped_CL)
    too_high_CL = (advantage_CL > 0) & (ratio_CL > high_CL)
    too_low_CL = (advantage_CL < 0) & (ratio_CL < low_CL)
    return SurrogateLoss(loss_CL, ~(too_high_CL | too_low_CL))


@config
class DualClip(Surrogate):
    """`ppo_clip` with a ceiling for bad tokens: if A < 0, min(loss, -A c).

    c = 10 is common for language models; the MARS code uses 1.4. TRL's `delta` is this c, as long
    as it is above 1 + eps_hi.

    >>> out = DualClip()(torch.tensor([[4.0, 2.0]]), Batch.from_tokens([[0.0, 0.0]], [-1.0]))
    >>> out.loss_CL.tolist(), out.unclipped_CL.tolist()
    ([[3.0, 2.0]], [[False, True]])
    """

    name: Literal["dual_clip"] = "dual_clip"
    eps_lo: Annotated[float, real(0, 1)] = 0.2
    eps_hi: Annotated[float, real(0)] = 0.2
    c: Annotated[float, real(above=1)] = 3.0

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        clipped = PpoClip(eps_lo=self.eps_lo, eps_hi=self.eps_hi)(ratio_CL, x)
        return capped(clipped, ratio_CL, x.advantage_CL, self.c)


def capped(inner: SurrogateLoss, ratio_CL: Tensor, advantage_CL: Tensor, c: float) -> SurrogateLoss:
    """Put the ceiling of the dual clip on another clipped loss: if A < 0, min(loss, -A c).

    >>> inner = SurrogateLoss(torch.tensor([[4.0]]), torch.tensor([[True]]))
    >>> capped(inner, torch.tensor([[4.0]]), torch.tensor([[-1.0]]), 3.0).loss_CL.tolist()
    [[3.0]]
    """
    bad_CL = advantage_CL < 0
    lower_CL = torch.minimum(inner.loss_CL, -advantage_CL * c)
    unclipped_CL = inner.unclipped_CL & ~(bad_CL & (ratio_CL > c))
    return SurrogateLoss(torch.where(bad_CL, lower_CL, inner.loss_CL), unclipped_CL)


@config
class Preclip(Surrogate):
    """`ppo_clip` of a ratio whose logarithm was limited to ±log bound (StableReinforce).

    Only what the pessimistic maximum leaves unbounded is touched: bad tokens that became much more
    likely, which then pass no gradient. Every ratio is limited to e^20 anyway. Source: code of
    R1-Reward, which limits the log-ratio before the exponential.

    >>> out = Preclip()(torch.tensor([[4000.0]]), Batch.from_tokens([[0.0]], [-1.0]))
    >>> out.loss_CL.tolist(), out.unclipped_CL.tolist()
    ([[1000.0]], [[False]])
    """

    name: Literal["preclip"] = "preclip"
    eps_lo: Annotated[float, real(0, 1)] = 0.2
    eps_hi: Annotated[float, real(0)] = 0.2
    bound: Annotated[float, real(above=1)] = 1000.0

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        limited_CL = ratio_CL.clamp(1.0 / self.bound, self.bound)
        loss_CL, unclipped_CL = PpoClip(eps_lo=self.eps_lo, eps_hi=self.eps_hi)(limited_CL, x)
        return SurrogateLoss(loss_CL, unclipped_CL & (limited_CL == ratio_CL))


@config
class Cispo(Surrogate):
    """Clip the weight, not the gradient (CISPO): -sg[w] A logp, so that every token teaches.

    `clip` is w = clip(s, 1 - eps_lo, 1 + eps_hi) as in verl; `cap` is TRL's w = min(s, cap), where
    its `epsilon_high` is the cap itself and not added to 1.

    >>> x = Batch.from_tokens([[-1.0]], advantage=[2.0])
    >>> [Cispo(form=f)(torch.full((1, 1), 4.0), x).loss_CL.item() for f in ("clip", "cap")]
    [2.4000000953674316, 8.0]
    """

    name: Literal["cispo"] = "cispo"
    form: Literal["clip", "cap"] = "clip"
    eps_lo: Annotated[float, real(0, 1)] = 0.2
    eps_hi: Annotated[float, real(0)] = 0.2
    cap: Annotated[float, real(0)] = 5.0

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        bounds = {"clip": (1.0 - self.eps_lo, 1.0 + self.eps_hi), "cap": (0.0, self.cap)}
        weight_CL = ratio_CL.detach().clamp(*bounds[self.form])
        return SurrogateLoss(-weight_CL * x.advantage_CL * x.logp_CL, torch.ones_like(x.mask_CL))


@config
class Sapo(Surrogate):
    """Soft gate instead of a clip (SAPO): -(4 / tau) sigmoid(tau (s - 1)) A.

    tau is `tau_pos` where A > 0, else `tau_neg`. At s = 1 the gradient is that of -A s; it fades
    on both sides, faster for a greater tau.

    >>> round(Sapo()(torch.full((1, 1), 1.25), Batch.from_tokens([[0.0]])).loss_CL.item(), 4)
    -2.2487
    """

    name: Literal["sapo"] = "sapo"
    tau_pos: Annotated[float, real(above=0)] = 1.0
    tau_neg: Annotated[float, real(above=0)] = 1.05

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        tau_CL = torch.where(x.advantage_CL > 0, self.tau_pos, self.tau_neg).to(ratio_CL.dtype)
        soft_CL = 4.0 / tau_CL * torch.sigmoid(tau_CL * (ratio_CL - 1.0))
        return SurrogateLoss(-soft_CL * x.advantage_CL, torch.ones_like(x.mask_CL))


@config
class Gmpo(Surrogate):
    """Geometric mean of the clipped ratios of a row (GMPO): -A exp(mean_t log s_t).

    log s_t is clipped to [-eps_lo, eps_hi] only where that makes the loss worse, as in `ppo_clip`.
    Every token of the row carries the value of the row; with `seq_mean_token_mean` value and
    gradient are the paper's. Bounds are on the logarithm.

    >>> x = Batch.from_tokens([[0.0, 0.0]], advantage=[1.0])
    >>> out = Gmpo()(torch.tensor([[0.0, 0.8]]).exp(), x)
    >>> round(out.loss_CL[0, 0].item(), 4), out.unclipped_CL.tolist()
    (-1.2214, [[True, False]])
    """

    name: Literal["gmpo"] = "gmpo"
    eps_lo: Annotated[float, real(0)] = 0.4
    eps_hi: Annotated[float, real(0)] = 0.4

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        a_CL, log_CL = x.advantage_CL, ratio_CL.log()
        too_high_CL, too_low_CL = (
            (a_CL > 0) & (log_CL > self.eps_hi),
            (a_CL < 0) & (log_CL < -self.eps_lo),
        )
        unclipped_CL = ~(too_high_CL | too_low_CL)
        worse_CL = torch.where(
            unclipped_CL, log_CL, log_CL.detach().clamp(-self.eps_lo, self.eps_hi)
        )
        length_C1 = x.mask_CL.sum(1, keepdim=True).clamp(min=1)
        mean_C1 = torch.where(x.mask_CL, worse_CL, 0.0).sum(1, keepdim=True) / length_C1
        return SurrogateLoss(-a_CL * mean_C1.exp(), unclipped_CL)


# ---- Off policy ------------------------------------------------------------------------------


@config
class Rec(Surrogate):
    """Group-relative REINFORCE off policy (REC, RED): -A w logp inside a gate.

    Gates on s: `one` keeps what the pessimistic clip keeps (A >= 0 and s <= 1 + eps_hi, or A <= 0
    and s >= 1 - eps_lo); `two` keeps 1 - eps_lo <= s <= 1 + eps_hi, which also drops tokens that
    need no bound; `ring` adds to `two` what is far out on the harmless side (A >= 0 and
    s <= 1 - ring_lo, or A <= 0 and s >= 1 + ring_hi); `none` keeps all.
    Weights, all constants: `none` 1; `is` s, then `one` has the gradient of `ppo_clip`; `seq` the
    geometric mean over the row; `exp` exp(A / temperature), RED-Weight with side `none`.
    Source: REC series in Trinity-RFT.

    >>> x = Batch.from_tokens([[-1.0, -1.0, -1.0]])
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

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
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
class Topr(Surrogate):
    """Tapered off-policy REINFORCE (TOPR): -alpha A logp, alpha = clip(s, 0, 1) if A <= 0 else 1.

    Good rows are imitated at full weight, bad ones only as long as the policy still writes them.
    The paper's s is that of the whole row: ratio level `seq_prod_ratio`.

    >>> x = Batch.from_tokens([[-1.0], [-1.0]], advantage=[1.0, -1.0])
    >>> Topr()(torch.full((2, 1), 0.5), x).loss_CL.tolist()
    [[1.0], [-0.5]]
    """

    name: Literal["topr"] = "topr"

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        tapered_CL = ratio_CL.detach().clamp(0.0, 1.0)
        alpha_CL = torch.where(x.advantage_CL <= 0, tapered_CL, 1.0)
        return SurrogateLoss(-alpha_CL * x.advantage_CL * x.logp_CL, torch.ones_like(x.mask_CL))


@config
class Opmd(Surrogate):
    """Online policy mirror descent: -A logp + tau (log s)^2.

    `half` writes tau / 2 (Kimi, ROLL; Trinity absorbs the half); `scaled` is Trinity's first form,
    -A logp / (1 + tau), without the square. The square has no gradient where s = 1, so the first
    step on fresh samples is plain policy gradient. With ratio level `seq_prod_ratio` and
    `seq_mean_token_sum` the gradient is that of the squared log-ratio of the row.

    >>> x, s_CL = Batch.from_tokens([[-1.0]]), torch.ones(1, 1).exp()
    >>> [Opmd(tau=0.5, form=f)(s_CL, x).loss_CL.item() for f in ("square", "half")]
    [1.5, 1.25]
    """

    acts_at_zero = True
    name: Literal["opmd"] = "opmd"
    tau: Annotated[float, real(0)] = 0.1
    form: Literal["square", "half", "scaled"] = "square"

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        plain_CL, every_CL = -x.advantage_CL * x.logp_CL, torch.ones_like(x.mask_CL)
        if self.form == "scaled":
            return SurrogateLoss(plain_CL / (1.0 + self.tau), every_CL)
        share = self.tau / 2 if self.form == "half" else self.tau
        return SurrogateLoss(plain_CL + share * ratio_CL.log() ** 2, every_CL)


@config
class RemixClip(Surrogate):
    """Clip replayed rows around where this update started (ReMix).

    -min(r A, clip(r, c - eps_lo, c + eps_hi) A), r = pi / pi_behaviour = s c,
    c = pi_old / pi_behaviour, constant. On fresh rows c = 1, which is `ppo_clip`. The ratio
    already corrects for the sampler, so no other correction belongs beside it.

    >>> x = Batch.from_tokens([[0.0]], logp_behaviour_CL=-torch.tensor([[1.5]]).log())
    >>> round(RemixClip()(torch.full((1, 1), 1.2), x).loss_CL.item(), 4)
    -1.7
    """

    corrects_sampler = True
    name: Literal["remix_clip"] = "remix_clip"
    eps_lo: Annotated[float, real(0)] = 0.2
    eps_hi: Annotated[float, real(0)] = 0.2

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        log_CL = x.logp_old_CL - x.needed("logp_behaviour_CL", self.name)
        centre_CL = log_CL.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()
        low_CL, high_CL = centre_CL - self.eps_lo, centre_CL + self.eps_hi
        return clip_between(ratio_CL * centre_CL, x.advantage_CL, low_CL, high_CL)


def _harmless(a_CL: Tensor, low_CL: Tensor, high_CL: Tensor) -> Tensor:
    """Keep low ratios of good tokens and high ratios of bad ones."""
    return ((a_CL >= 0) & low_CL) | ((a_CL <= 0) & high_CL)


def _rec_weight(weight: Weight, ratio_CL: Tensor, x: Batch, temperature: float) -> Tensor:
    if weight == "is":
        return ratio_CL.detach()
    if weight == "seq":
        return SeqGeoRatio()(x.logp_CL, x.logp_old_CL, x.mask_CL, x.turn_CL).detach().exp()
    if weight == "exp":
        return (x.advantage_CL / temperature).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()
    return torch.ones_like(ratio_CL)


# ---- By entropy ------------------------------------------------------------------------------


@config
class Hapo(Surrogate):
    """Clip and advantage by entropy (HAPO), with the ceiling of `dual_clip`.

    h <= 0 widens the clip below, [1 - eps_lo (1 - h), 1 + eps_hi]; h > 0 widens it above,
    [1 - eps_lo, 1 + eps_hi (1 + h)]. A becomes A (1 + h) for h > 0 outside the neutral zone, which
    reaches half as far from 1 as these bounds (starriver030515/HAPO@7671dde), and for h <= 0 inside
    of it. h comes from `batch_statistics`.
    The released scale divides a negative h by a negative minimum, so that h >= 0 for every token
    and none counts as certain; here certain tokens are negative.

    >>> found = {"hapo": torch.tensor([[-0.5, 0.5]])}
    >>> x = Batch.from_tokens([[0.0, 0.0]], statistics=found)
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

    def __call__(self, ratio_CL: Tensor, x: Batch) -> SurrogateLoss:
        h_CL, a_CL = x.statistics[self.name].to(ratio_CL.dtype), x.advantage_CL
        lo_CL = self.eps_lo * (1.0 - h_CL.clamp(max=0.0))
        hi_CL = self.eps_hi * (1.0 + h_CL.clamp(min=0.0))
        if self.redistribute:
            a_CL = redistributed(a_CL, h_CL, ratio_CL.detach(), lo_CL, hi_CL)
        clipped = clip_between(ratio_CL, a_CL, 1.0 - lo_CL, 1.0 + hi_CL)
        return capped(clipped, ratio_CL, a_CL, self.c)

    def batch_statistics(self, x: Batch, generator: torch.Generator | None) -> Tensor:
        entropy_CL = x.needed("entropy_CL", self.name).detach()
        score_CL = entropy_scale(entropy_CL[x.mask_CL], self.share).score(entropy_CL)
        return torch.where(x.mask_CL, score_CL, 0.0)


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


AnySurrogate = Annotated[
    PolicyGradient
    | Unclipped
    | PpoClip
    | DualClip
    | Preclip
    | Cispo
    | Sapo
    | Gmpo
    | Rec
    | Topr
    | Opmd
    | RemixClip
    | Hapo,
    choice(Surrogate),
]
"""P3O with clipped sides is `ppo_clip` on pairs; its on-policy form is `policy_gradient` with
`leave_one_out`."""


# ---- Aggregations ----------------------------------------------------------------------------


@config
class TokenMean:
    """Every token counts the same: sum / tokens.

    >>> mask_CL = torch.tensor([[True, True, True], [True, False, False]])
    >>> float(TokenMean()(torch.ones(2, 3), mask_CL, Denominators.of(mask_CL, 3)))
    1.0
    """

    name: Literal["token_mean"] = "token_mean"

    def __call__(self, loss_CL: Tensor, mask_CL: Tensor, denom: Denominators) -> Tensor:
        return _kept(loss_CL, mask_CL).sum() / max(denom.tokens, 1)


@config
class SeqMeanTokenMean:
    """Every row counts the same: sum_i (sum_t loss / length_i) / rows.

    >>> mask_CL = torch.tensor([[True, True, True], [True, False, False]])
    >>> loss_CL = torch.tensor([[1.0, 1.0, 1.0], [3.0, 0.0, 0.0]])
    >>> float(SeqMeanTokenMean()(loss_CL, mask_CL, Denominators.of(mask_CL, 3)))
    2.0
    """

    name: Literal["seq_mean_token_mean"] = "seq_mean_token_mean"

    def __call__(self, loss_CL: Tensor, mask_CL: Tensor, denom: Denominators) -> Tensor:
        length_C = mask_CL.sum(1).clamp(min=1)
        return (_kept(loss_CL, mask_CL).sum(1) / length_C).sum() / max(denom.rows, 1)


@config
class SeqMeanTokenSum:
    """Sum over tokens, mean over rows: sum / rows.

    >>> mask_CL = torch.tensor([[True, True, True], [True, False, False]])
    >>> float(SeqMeanTokenSum()(torch.ones(2, 3), mask_CL, Denominators.of(mask_CL, 3)))
    2.0
    """

    name: Literal["seq_mean_token_sum"] = "seq_mean_token_sum"

    def __call__(self, loss_CL: Tensor, mask_CL: Tensor, denom: Denominators) -> Tensor:
        return _kept(loss_CL, mask_CL).sum() / max(denom.rows, 1)


@config
class ConstantMean:
    """Constant denominator (Dr. GRPO): sum / (rows * max_length).

    >>> mask_CL = torch.tensor([[True, True, True], [True, False, False]])
    >>> float(ConstantMean()(torch.ones(2, 3), mask_CL, Denominators.of(mask_CL, 8)))
    0.25
    """

    name: Literal["constant_mean"] = "constant_mean"

    def __call__(self, loss_CL: Tensor, mask_CL: Tensor, denom: Denominators) -> Tensor:
        return _kept(loss_CL, mask_CL).sum() / max(denom.rows * denom.max_length, 1)


@config
class SumNorm:
    """Constant denominator without the rows: sum / max_length.

    verl's `seq-mean-token-sum-norm`: its name says mean over rows and its code does not divide by
    their number, so the step grows with the batch. `constant_mean` is Dr. GRPO's.

    >>> mask_CL = torch.tensor([[True, True, True], [True, False, False]])
    >>> float(SumNorm()(torch.ones(2, 3), mask_CL, Denominators.of(mask_CL, 8)))
    0.5
    """

    name: Literal["sum_norm"] = "sum_norm"

    def __call__(self, loss_CL: Tensor, mask_CL: Tensor, denom: Denominators) -> Tensor:
        return _kept(loss_CL, mask_CL).sum() / max(denom.max_length, 1)


AnyAggregation = Annotated[
    TokenMean | SeqMeanTokenMean | SeqMeanTokenSum | ConstantMean | SumNorm, choice()
]


def _kept(loss_CL: Tensor, mask_CL: Tensor) -> Tensor:
    """Select, not multiply: 0 times an infinite masked loss would be NaN."""
    return torch.where(mask_CL, loss_CL, 0.0)
