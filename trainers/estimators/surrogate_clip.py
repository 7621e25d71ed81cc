"""Surrogates that bound how far one update can move a token."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.trainers.estimators.component import LossComponent
from coevo.trainers.estimators.inputs import LossInputs

INFINITY = float("inf")


class SurrogateLoss(NamedTuple):
    """Loss per token, and where it still teaches."""

    loss_CL: Tensor
    """Loss of every token; the gate is already in it."""
    unclipped_CL: Tensor
    """False where the clip has cut the gradient of the token."""


@config
class PolicyGradient(LossComponent):
    """Score-function loss: -A logp. Its gradient is that of -A s at s = 1.

    >>> from coevo.trainers.estimators import from_tokens
    >>> PolicyGradient()(torch.ones(1, 1), from_tokens([[-0.5]], advantage=[2.0])).loss_CL.tolist()
    [[1.0]]
    """

    name: Literal["policy_gradient"] = "policy_gradient"

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
        return SurrogateLoss(-x.advantage_CL * x.logp_CL, torch.ones_like(x.mask_CL))


@config
class Unclipped(LossComponent):
    """Importance-weighted loss without any bound: -A s. KL-Cov adds its penalty to this one.

    >>> from coevo.trainers.estimators import from_tokens
    >>> Unclipped()(torch.full((1, 1), 1.5), from_tokens([[-0.5]], [2.0])).loss_CL.tolist()
    [[-3.0]]
    """

    name: Literal["unclipped"] = "unclipped"

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
        return SurrogateLoss(-x.advantage_CL * ratio_CL, torch.ones_like(x.mask_CL))


@config
class PpoClip(LossComponent):
    """Pessimistic clipped loss: max(-A s, -A clip(s, 1 - eps_lo, 1 + eps_hi)).

    >>> from coevo.trainers.estimators import from_tokens
    >>> out = PpoClip()(torch.tensor([[1.5], [1.5]]), from_tokens([[0.0], [0.0]], [1.0, -1.0]))
    >>> out.loss_CL, out.unclipped_CL.tolist()
    (tensor([[-1.2000],
            [ 1.5000]]), [[False], [True]])
    """

    name: Literal["ppo_clip"] = "ppo_clip"
    eps_lo: Annotated[float, real(0, 1)] = 0.2
    eps_hi: Annotated[float, real(0)] = 0.2

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
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
class DualClip(LossComponent):
    """`ppo_clip` with a ceiling for bad tokens: if A < 0, min(loss, -A c).

    c = 10 is common for language models; the MARS code uses 1.4. TRL's `delta` is this c, as long
    as it is above 1 + eps_hi.

    Raises:
        ConfigError: c is not above 1.

    >>> from coevo.trainers.estimators import from_tokens
    >>> out = DualClip()(torch.tensor([[4.0, 2.0]]), from_tokens([[0.0, 0.0]], [-1.0]))
    >>> out.loss_CL.tolist(), out.unclipped_CL.tolist()
    ([[3.0, 2.0]], [[False, True]])
    """

    name: Literal["dual_clip"] = "dual_clip"
    eps_lo: Annotated[float, real(0, 1)] = 0.2
    eps_hi: Annotated[float, real(0)] = 0.2
    c: Annotated[float, real(above=1)] = 3.0

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
        return capped(
            PpoClip(eps_lo=self.eps_lo, eps_hi=self.eps_hi)(ratio_CL, x),
            ratio_CL,
            x.advantage_CL,
            self.c,
        )


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
class Preclip(LossComponent):
    """`ppo_clip` of a ratio whose logarithm was limited to ±log bound (StableReinforce).

    Only what the pessimistic maximum leaves unbounded is touched: bad tokens that became much more
    likely, which then pass no gradient. Every ratio is limited to e^20 anyway. Source: code of
    R1-Reward, which limits the log-ratio before the exponential.

    Raises:
        ConfigError: bound is not above 1.

    >>> from coevo.trainers.estimators import from_tokens
    >>> out = Preclip()(torch.tensor([[4000.0]]), from_tokens([[0.0]], [-1.0]))
    >>> out.loss_CL.tolist(), out.unclipped_CL.tolist()
    ([[1000.0]], [[False]])
    """

    name: Literal["preclip"] = "preclip"
    eps_lo: Annotated[float, real(0, 1)] = 0.2
    eps_hi: Annotated[float, real(0)] = 0.2
    bound: Annotated[float, real(above=1)] = 1000.0

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
        limited_CL = ratio_CL.clamp(1.0 / self.bound, self.bound)
        loss_CL, unclipped_CL = PpoClip(eps_lo=self.eps_lo, eps_hi=self.eps_hi)(limited_CL, x)
        return SurrogateLoss(loss_CL, unclipped_CL & (limited_CL == ratio_CL))


@config
class Cispo(LossComponent):
    """Clip the weight, not the gradient (CISPO): -sg[w] A logp, so that every token teaches.

    `clip` is w = clip(s, 1 - eps_lo, 1 + eps_hi) as in verl; `cap` is TRL's w = min(s, cap), where
    its `epsilon_high` is the cap itself and not added to 1.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0]], advantage=[2.0])
    >>> [Cispo(form=f)(torch.full((1, 1), 4.0), x).loss_CL.item() for f in ("clip", "cap")]
    [2.4000000953674316, 8.0]
    """

    name: Literal["cispo"] = "cispo"
    form: Literal["clip", "cap"] = "clip"
    eps_lo: Annotated[float, real(0, 1)] = 0.2
    eps_hi: Annotated[float, real(0)] = 0.2
    cap: Annotated[float, real(0)] = 5.0

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
        low, high = (
            (1.0 - self.eps_lo, 1.0 + self.eps_hi) if self.form == "clip" else (0.0, self.cap)
        )
        weight_CL = ratio_CL.detach().clamp(low, high)
        return SurrogateLoss(-weight_CL * x.advantage_CL * x.logp_CL, torch.ones_like(x.mask_CL))


@config
class Sapo(LossComponent):
    """Soft gate instead of a clip (SAPO): -(4 / tau) sigmoid(tau (s - 1)) A.

    tau is `tau_pos` where A > 0, else `tau_neg`. At s = 1 the gradient is that of -A s; it fades
    on both sides, faster for a greater tau.

    Raises:
        ConfigError: A temperature is not above 0.

    >>> from coevo.trainers.estimators import from_tokens
    >>> round(Sapo()(torch.full((1, 1), 1.25), from_tokens([[0.0]])).loss_CL.item(), 4)
    -2.2487
    """

    name: Literal["sapo"] = "sapo"
    tau_pos: Annotated[float, real(above=0)] = 1.0
    tau_neg: Annotated[float, real(above=0)] = 1.05

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
        tau_CL = torch.where(x.advantage_CL > 0, self.tau_pos, self.tau_neg).to(ratio_CL.dtype)
        soft_CL = 4.0 / tau_CL * torch.sigmoid(tau_CL * (ratio_CL - 1.0))
        return SurrogateLoss(-soft_CL * x.advantage_CL, torch.ones_like(x.mask_CL))


@config
class Gmpo(LossComponent):
    """Geometric mean of the clipped ratios of a row (GMPO): -A exp(mean_t log s_t).

    log s_t is clipped to [-eps_lo, eps_hi] only where that makes the loss worse, as in `ppo_clip`.
    Every token of the row carries the value of the row; with `seq_mean_token_mean` value and
    gradient are the paper's. Bounds are on the logarithm.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[0.0, 0.0]], advantage=[1.0])
    >>> out = Gmpo()(torch.tensor([[0.0, 0.8]]).exp(), x)
    >>> round(out.loss_CL[0, 0].item(), 4), out.unclipped_CL.tolist()
    (-1.2214, [[True, False]])
    """

    name: Literal["gmpo"] = "gmpo"
    eps_lo: Annotated[float, real(0)] = 0.4
    eps_hi: Annotated[float, real(0)] = 0.4

    def __call__(self, ratio_CL: Tensor, x: LossInputs) -> SurrogateLoss:
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
