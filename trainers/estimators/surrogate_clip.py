"""Surrogates that bound how far one update can move a token."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.option import check_range

INFINITY = float("inf")


class Surrogate(NamedTuple):
    """Loss per token, and where it still teaches."""

    loss_BL: Tensor
    """Loss of every token; the gate is already in it."""
    gate_BL: Tensor
    """False where the clip has cut the gradient of the token."""


def pg(ratio_BL: Tensor, x: LossInputs) -> Surrogate:
    """Score-function loss: -A logp. Its gradient is that of -A s at s = 1.

    >>> from coevo.trainers.estimators import from_tokens
    >>> pg(torch.ones(1, 1), from_tokens([[-0.5]], advantage=[2.0])).loss_BL.tolist()
    [[1.0]]
    """
    return Surrogate(-x.advantage_BL * x.logp_BL, torch.ones_like(x.mask_BL))


def unclipped(ratio_BL: Tensor, x: LossInputs) -> Surrogate:
    """Importance-weighted loss without any bound: -A s. KL-Cov adds its penalty to this one.

    >>> from coevo.trainers.estimators import from_tokens
    >>> unclipped(torch.full((1, 1), 1.5), from_tokens([[-0.5]], [2.0])).loss_BL.tolist()
    [[-3.0]]
    """
    return Surrogate(-x.advantage_BL * ratio_BL, torch.ones_like(x.mask_BL))


def ppo_clip(
    ratio_BL: Tensor,
    x: LossInputs,
    *,
    eps_lo: float = 0.2,
    eps_hi: float = 0.2,
) -> Surrogate:
    """Pessimistic clipped loss: max(-A s, -A clip(s, 1 - eps_lo, 1 + eps_hi)).

    >>> from coevo.trainers.estimators import from_tokens
    >>> out = ppo_clip(torch.tensor([[1.5], [1.5]]), from_tokens([[0.0], [0.0]], [1.0, -1.0]))
    >>> out.loss_BL, out.gate_BL.tolist()
    (tensor([[-1.2000],
            [ 1.5000]]), [[False], [True]])
    """
    check_range("eps_lo", eps_lo, 0.0, 1.0)
    check_range("eps_hi", eps_hi, 0.0, INFINITY)
    return clip_between(ratio_BL, x.advantage_BL, 1.0 - eps_lo, 1.0 + eps_hi)


def clip_between(
    ratio_BL: Tensor, advantage_BL: Tensor, low: Tensor | float, high: Tensor | float
) -> Surrogate:
    """Compute max(-A s, -A clip(s, low, high)) with bounds that may differ from token to token.

    >>> s_BL, a_BL = torch.tensor([[1.8, 1.8]]), torch.tensor([[1.0, -1.0]])
    >>> clip_between(s_BL, a_BL, torch.tensor([[1.3, 1.3]]), 1.5).loss_BL.tolist()
    [[-1.5, 1.7999999523162842]]
    """
    low_BL = torch.as_tensor(low, dtype=ratio_BL.dtype, device=ratio_BL.device)
    high_BL = torch.as_tensor(high, dtype=ratio_BL.dtype, device=ratio_BL.device)
    clipped_BL = ratio_BL.clamp(low_BL, high_BL)
    loss_BL = torch.maximum(-advantage_BL * ratio_BL, -advantage_BL * clipped_BL)
    too_high_BL = (advantage_BL > 0) & (ratio_BL > high_BL)
    too_low_BL = (advantage_BL < 0) & (ratio_BL < low_BL)
    return Surrogate(loss_BL, ~(too_high_BL | too_low_BL))


def dual_clip(
    ratio_BL: Tensor,
    x: LossInputs,
    *,
    eps_lo: float = 0.2,
    eps_hi: float = 0.2,
    c: float = 3.0,
) -> Surrogate:
    """`ppo_clip` with a ceiling for bad tokens: if A < 0, min(loss, -A c).

    c = 10 is common for language models; the MARS code uses 1.4. TRL's `delta` is this c, as long
    as it is above 1 + eps_hi.

    Raises:
        ConfigError: c is not above 1.

    >>> from coevo.trainers.estimators import from_tokens
    >>> out = dual_clip(torch.tensor([[4.0, 2.0]]), from_tokens([[0.0, 0.0]], [-1.0]))
    >>> out.loss_BL.tolist(), out.gate_BL.tolist()
    ([[3.0, 2.0]], [[False, True]])
    """
    if not c > 1.0:
        raise ConfigError(f"dual_clip: c={c} must be above 1, or on-policy tokens lose gradient")
    return capped(ppo_clip(ratio_BL, x, eps_lo=eps_lo, eps_hi=eps_hi), ratio_BL, x.advantage_BL, c)


def capped(inner: Surrogate, ratio_BL: Tensor, advantage_BL: Tensor, c: float) -> Surrogate:
    """Put the ceiling of the dual clip on another clipped loss: if A < 0, min(loss, -A c).

    >>> inner = Surrogate(torch.tensor([[4.0]]), torch.tensor([[True]]))
    >>> capped(inner, torch.tensor([[4.0]]), torch.tensor([[-1.0]]), 3.0).loss_BL.tolist()
    [[3.0]]
    """
    bad_BL = advantage_BL < 0
    lower_BL = torch.minimum(inner.loss_BL, -advantage_BL * c)
    gate_BL = inner.gate_BL & ~(bad_BL & (ratio_BL > c))
    return Surrogate(torch.where(bad_BL, lower_BL, inner.loss_BL), gate_BL)


def preclip(
    ratio_BL: Tensor,
    x: LossInputs,
    *,
    eps_lo: float = 0.2,
    eps_hi: float = 0.2,
    bound: float = 1000.0,
) -> Surrogate:
    """`ppo_clip` of a ratio whose logarithm was limited to ±log bound (StableReinforce).

    Only what the pessimistic maximum leaves unbounded is touched: bad tokens that became much more
    likely, which then pass no gradient. Every ratio is limited to e^20 anyway. Source: code of
    R1-Reward, which limits the log-ratio before the exponential.

    Raises:
        ConfigError: bound is not above 1.

    >>> from coevo.trainers.estimators import from_tokens
    >>> out = preclip(torch.tensor([[4000.0]]), from_tokens([[0.0]], [-1.0]))
    >>> out.loss_BL.tolist(), out.gate_BL.tolist()
    ([[1000.0]], [[False]])
    """
    if not bound > 1.0:
        raise ConfigError(f"preclip: bound={bound} must be above 1")
    limited_BL = ratio_BL.clamp(1.0 / bound, bound)
    loss_BL, gate_BL = ppo_clip(limited_BL, x, eps_lo=eps_lo, eps_hi=eps_hi)
    return Surrogate(loss_BL, gate_BL & (limited_BL == ratio_BL))


def cispo(
    ratio_BL: Tensor,
    x: LossInputs,
    *,
    form: Literal["clip", "cap"] = "clip",
    eps_lo: float = 0.2,
    eps_hi: float = 0.2,
    cap: float = 5.0,
) -> Surrogate:
    """Clip the weight, not the gradient (CISPO): -sg[w] A logp, so that every token teaches.

    `clip` is w = clip(s, 1 - eps_lo, 1 + eps_hi) as in verl; `cap` is TRL's w = min(s, cap), where
    its `epsilon_high` is the cap itself and not added to 1.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0]], advantage=[2.0])
    >>> [cispo(torch.full((1, 1), 4.0), x, form=f).loss_BL.item() for f in ("clip", "cap")]
    [2.4000000953674316, 8.0]
    """
    check_range("eps_lo", eps_lo, 0.0, 1.0)
    check_range("eps_hi", eps_hi, 0.0, INFINITY)
    check_range("cap", cap, 0.0, INFINITY)
    low, high = (1.0 - eps_lo, 1.0 + eps_hi) if form == "clip" else (0.0, cap)
    weight_BL = ratio_BL.detach().clamp(low, high)
    return Surrogate(-weight_BL * x.advantage_BL * x.logp_BL, torch.ones_like(x.mask_BL))


def sapo(
    ratio_BL: Tensor, x: LossInputs, *, tau_pos: float = 1.0, tau_neg: float = 1.05
) -> Surrogate:
    """Soft gate instead of a clip (SAPO): -(4 / tau) sigmoid(tau (s - 1)) A.

    tau is `tau_pos` where A > 0, else `tau_neg`. At s = 1 the gradient is that of -A s; it fades
    on both sides, faster for a greater tau.

    Raises:
        ConfigError: A temperature is not above 0.

    >>> from coevo.trainers.estimators import from_tokens
    >>> round(sapo(torch.full((1, 1), 1.25), from_tokens([[0.0]])).loss_BL.item(), 4)
    -2.2487
    """
    if not min(tau_pos, tau_neg) > 0.0:
        raise ConfigError(f"sapo: tau_pos={tau_pos} and tau_neg={tau_neg} must be above 0")
    tau_BL = torch.where(x.advantage_BL > 0, tau_pos, tau_neg).to(ratio_BL.dtype)
    soft_BL = 4.0 / tau_BL * torch.sigmoid(tau_BL * (ratio_BL - 1.0))
    return Surrogate(-soft_BL * x.advantage_BL, torch.ones_like(x.mask_BL))


def gmpo(ratio_BL: Tensor, x: LossInputs, *, eps_lo: float = 0.4, eps_hi: float = 0.4) -> Surrogate:
    """Geometric mean of the clipped ratios of a row (GMPO): -A exp(mean_t log s_t).

    log s_t is clipped to [-eps_lo, eps_hi] only where that makes the loss worse, as in `ppo_clip`.
    Every token of the row carries the value of the row; with `seq_mean_token_mean` value and
    gradient are the paper's. Bounds are on the logarithm.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[0.0, 0.0]], advantage=[1.0])
    >>> out = gmpo(torch.tensor([[0.0, 0.8]]).exp(), x)
    >>> round(out.loss_BL[0, 0].item(), 4), out.gate_BL.tolist()
    (-1.2214, [[True, False]])
    """
    check_range("eps_lo", eps_lo, 0.0, INFINITY)
    check_range("eps_hi", eps_hi, 0.0, INFINITY)
    a_BL, log_BL = x.advantage_BL, ratio_BL.log()
    too_high_BL, too_low_BL = (a_BL > 0) & (log_BL > eps_hi), (a_BL < 0) & (log_BL < -eps_lo)
    gate_BL = ~(too_high_BL | too_low_BL)
    worse_BL = torch.where(gate_BL, log_BL, log_BL.detach().clamp(-eps_lo, eps_hi))
    length_B1 = x.mask_BL.sum(1, keepdim=True).clamp(min=1)
    mean_B1 = torch.where(x.mask_BL, worse_BL, 0.0).sum(1, keepdim=True) / length_B1
    return Surrogate(-a_BL * mean_B1.exp(), gate_BL)
