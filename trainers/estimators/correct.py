"""Correct: weights for tokens whose sampler and trainer disagree about their probability.

w = exp(logp_old - logp_roll), where "old" is the trainer's recomputation and "roll" is what the
sampler reported: bounds are on trainer / sampler. The weight multiplies the loss and carries no
gradient; a rejected token leaves the mask. When logp_old is the sampler's own number, use `none`:
the ratio already corrects. Corrections see a whole mini-batch, so `mean=True`, which divides the
weights by their mean over what is kept, does not depend on micro-batches.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.option import Table, check_range
from coevo.trainers.estimators.ratio import LOG_RATIO_LIMIT, finite

INFINITY = float("inf")
Weighing = Literal["none", "token", "seq"]


class Correction(NamedTuple):
    """Weight and mask of every token, both without gradient."""

    weight_BL: Tensor
    """Factor of the loss."""
    keep_BL: Tensor
    """False where the token is rejected."""


def no_correction(logp_old_BL: Tensor, logp_roll_BL: Tensor | None, mask_BL: Tensor) -> Correction:
    """Weight 1 everywhere.

    >>> no_correction(torch.zeros(1, 2), None, torch.ones(1, 2).bool()).weight_BL.tolist()
    [[1.0, 1.0]]
    """
    return Correction(torch.ones_like(logp_old_BL), torch.ones_like(mask_BL))


def token_tis(
    logp_old_BL: Tensor,
    logp_roll_BL: Tensor | None,
    mask_BL: Tensor,
    *,
    cap: float = 2.0,
    floor: float = 0.0,
    mean: bool = False,
) -> Correction:
    """Truncated importance sampling per token: clip(w, floor, cap).

    verl has no floor; OpenRLHF clamps to [0.5, 5].

    Raises:
        ConfigError: The sampler's log-probabilities are missing, or floor is above cap.

    >>> token_tis(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1).bool()).weight_BL.tolist()
    [[2.0]]
    """
    check_range("floor", floor, 0.0, cap)
    log_BL = _log_weight(logp_old_BL, logp_roll_BL, mask_BL, "token_tis")
    every_BL = torch.ones_like(mask_BL)
    return _weighed(log_BL.exp().clamp(floor, cap), every_BL, mask_BL, mean)


def token_mis(
    logp_old_BL: Tensor,
    logp_roll_BL: Tensor | None,
    mask_BL: Tensor,
    *,
    lo: float = 0.5,
    hi: float = 5.0,
    mean: bool = False,
) -> Correction:
    """Masked importance sampling per token (IcePop): w where lo <= w <= hi, else rejected.

    Raises:
        ConfigError: The sampler's log-probabilities are missing, or lo is above hi.

    >>> old_BL, mask_BL = torch.tensor([[0.0, 2.0]]), torch.ones(1, 2).bool()
    >>> token_mis(old_BL, torch.zeros(1, 2), mask_BL).keep_BL.tolist()
    [[True, False]]
    """
    check_range("lo", lo, 0.0, hi)
    weight_BL = _log_weight(logp_old_BL, logp_roll_BL, mask_BL, "token_mis").exp()
    return _weighed(weight_BL, (weight_BL >= lo) & (weight_BL <= hi), mask_BL, mean)


def seq_tis(
    logp_old_BL: Tensor,
    logp_roll_BL: Tensor | None,
    mask_BL: Tensor,
    *,
    cap: float = 2.0,
    floor: float = 0.0,
    mean: bool = False,
) -> Correction:
    """Truncated importance sampling per row: clip(prod_t w_t, floor, cap) on every token of it.

    `mean` divides by the mean over rows.

    Raises:
        ConfigError: The sampler's log-probabilities are missing, or floor is above cap.

    >>> mask_BL = torch.ones(1, 2).bool()
    >>> old_BL = torch.tensor([[2.0, -1.5]])
    >>> round(seq_tis(old_BL, torch.zeros(1, 2), mask_BL).weight_BL[0, 1].item(), 4)
    1.6487
    """
    check_range("floor", floor, 0.0, cap)
    log_BL = _log_weight(logp_old_BL, logp_roll_BL, mask_BL, "seq_tis")
    weight_BL = _product(log_BL).clamp(floor, cap)
    return _weighed(weight_BL, torch.ones_like(mask_BL), mask_BL, mean, rows=True)


def seq_mis(
    logp_old_BL: Tensor,
    logp_roll_BL: Tensor | None,
    mask_BL: Tensor,
    *,
    lo: float = 0.0,
    hi: float = 3.0,
    mean: bool = False,
) -> Correction:
    """Masked importance sampling per row: prod_t w_t where it is in [lo, hi], else rejected.

    TRL's default, without a lower bound. `mean` divides by the mean over the rows that are kept.

    Raises:
        ConfigError: The sampler's log-probabilities are missing, or lo is above hi.

    >>> mask_BL = torch.ones(2, 2).bool()
    >>> old_BL = torch.tensor([[2.0, -1.5], [1.0, 0.5]])
    >>> seq_mis(old_BL, torch.zeros(2, 2), mask_BL).keep_BL.tolist()
    [[True, True], [False, False]]
    """
    check_range("lo", lo, 0.0, hi)
    weight_BL = _product(_log_weight(logp_old_BL, logp_roll_BL, mask_BL, "seq_mis"))
    inside_BL = (weight_BL >= lo) & (weight_BL <= hi)
    return _weighed(weight_BL, inside_BL, mask_BL, mean, rows=True)


def geo_rs(
    logp_old_BL: Tensor,
    logp_roll_BL: Tensor | None,
    mask_BL: Tensor,
    *,
    lo: float = 0.999,
    hi: float = 1.001,
    weight: Weighing = "none",
    cap: float = INFINITY,
    mean: bool = False,
) -> Correction:
    """Reject rows whose geometric mean of w is outside [lo, hi].

    What is kept weighs 1, min(w, cap) per token or min(prod_t w_t, cap) per row. The defaults are
    verl's preset; OpenRLHF's `seq-mask-tis` is lo 0.5, hi 5, weight `token`.

    Raises:
        ConfigError: The sampler's log-probabilities are missing, or lo is above hi.

    >>> mask_BL = torch.ones(2, 2).bool()
    >>> old_BL = torch.tensor([[0.1, -0.1], [0.1, 0.1]])
    >>> geo_rs(old_BL, torch.zeros(2, 2), mask_BL).keep_BL.tolist()
    [[True, True], [False, False]]
    """
    check_range("lo", lo, 0.0, hi)
    log_BL = _log_weight(logp_old_BL, logp_roll_BL, mask_BL, "geo_rs")
    length_B1 = mask_BL.sum(1, keepdim=True).clamp(min=1)
    geo_B1 = (log_BL.sum(1, keepdim=True) / length_B1).exp()
    keep_BL = ((geo_B1 >= lo) & (geo_B1 <= hi)).expand_as(mask_BL)
    rows = weight == "seq"
    return _weighed(_chosen(log_BL, weight).clamp(max=cap), keep_BL, mask_BL, mean, rows=rows)


def k3_rs(
    logp_old_BL: Tensor,
    logp_roll_BL: Tensor | None,
    mask_BL: Tensor,
    *,
    limit: float = 0.01,
    weight: Weighing = "none",
    cap: float = INFINITY,
    mean: bool = False,
) -> Correction:
    """Reject rows whose mean k3 = w - 1 - log w, an estimate of KL(roll || old), is above limit.

    What is kept weighs as in `geo_rs`; the default limit is verl's preset.

    Raises:
        ConfigError: The sampler's log-probabilities are missing.

    >>> mask_BL = torch.ones(2, 1).bool()
    >>> k3_rs(torch.tensor([[0.1], [0.2]]), torch.zeros(2, 1), mask_BL).keep_BL.tolist()
    [[True], [False]]
    """
    check_range("limit", limit, 0.0, INFINITY)
    log_BL = _log_weight(logp_old_BL, logp_roll_BL, mask_BL, "k3_rs")
    length_B1 = mask_BL.sum(1, keepdim=True).clamp(min=1)
    gap_B1 = (torch.expm1(log_BL) - log_BL).sum(1, keepdim=True) / length_B1
    keep_BL = (gap_B1 <= limit).expand_as(mask_BL)
    rows = weight == "seq"
    return _weighed(_chosen(log_BL, weight).clamp(max=cap), keep_BL, mask_BL, mean, rows=rows)


CORRECT: Table = {
    "none": no_correction,
    "token_tis": token_tis,
    "token_mis": token_mis,
    "seq_tis": seq_tis,
    "seq_mis": seq_mis,
    "geo_rs": geo_rs,
    "k3_rs": k3_rs,
}


def effective_share(total: float, square: float, tokens: float) -> float:
    """Compute the effective sample size per token, 1 / mean((w / mean w)^2), from sums over tokens.

    A rejected token counts with weight 0; where all are rejected nothing is effective.

    >>> effective_share(2.0, 2.0, 4.0)
    0.5
    """
    return total**2 / (tokens * square) if tokens * square > 0 else 0.0


def _log_weight(
    logp_old_BL: Tensor, logp_roll_BL: Tensor | None, mask_BL: Tensor, name: str
) -> Tensor:
    """Give log w, limited to ±20, 0 outside the mask."""
    if logp_roll_BL is None:
        raise ConfigError(f"correct {name!r} needs logp_roll_BL, the sampler's log-probabilities")
    dtype = torch.promote_types(logp_old_BL.dtype, torch.float32)
    log_BL = finite(logp_old_BL.detach().to(dtype)) - finite(logp_roll_BL.detach().to(dtype))
    return torch.where(mask_BL, log_BL, 0.0).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)


def _product(log_BL: Tensor) -> Tensor:
    total_B1 = log_BL.sum(1, keepdim=True).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return total_B1.exp().expand_as(log_BL)


def _chosen(log_BL: Tensor, weight: Weighing) -> Tensor:
    if weight == "none":
        return torch.ones_like(log_BL)
    return log_BL.exp() if weight == "token" else _product(log_BL)


def _weighed(
    weight_BL: Tensor, keep_BL: Tensor, mask_BL: Tensor, mean: bool, rows: bool = False
) -> Correction:
    """Drop what is rejected and, if asked, divide by the mean over kept tokens or kept rows."""
    kept_BL = torch.where(keep_BL, weight_BL, 0.0)
    if mean:
        share_BL = (mask_BL & keep_BL).to(weight_BL.dtype)
        if rows:
            share_BL = share_BL / share_BL.sum(1, keepdim=True).clamp(min=1)
        level = (kept_BL * share_BL).sum() / share_BL.sum().clamp(min=1)
        kept_BL = torch.where(level > 0, kept_BL / level, kept_BL)
    return Correction(kept_BL, keep_BL)
