"""Correct: weights for tokens whose sampler and trainer disagree about their probability.

w = exp(logp_old - logp_behaviour), where "old" is the trainer's recomputation and "behaviour" is
what the sampler reported: bounds are on trainer / sampler. The weight multiplies the loss and
carries no gradient; a rejected token leaves the mask. When logp_old is the sampler's own number,
leave `is_correction` out: the ratio already corrects. Corrections see a whole mini-batch, so
`mean=True`, which divides the weights by their mean over what is kept, does not depend on
micro-batches. ConfigError: the sampler's log-probabilities are missing, or bounds are turned round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.config import choice, config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.component import check_range
from coevo.trainers.estimators.ratio import LOG_RATIO_LIMIT, finite

INFINITY = float("inf")
Weighing = Literal["none", "token", "seq"]


class Correction(NamedTuple):
    """Weight and mask of every token, both without gradient."""

    weight_CL: Tensor
    """Factor of the loss."""
    keep_CL: Tensor
    """False where the token is rejected."""


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
        return _weighed(
            weight_CL, (weight_CL >= self.lo) & (weight_CL <= self.hi), mask_CL, self.mean
        )


@config
class SeqTis:
    """Truncated importance sampling per row: clip(prod_t w_t, floor, cap) on every token of it.

    `mean` divides by the mean over rows.

    >>> mask_CL = torch.ones(1, 2).bool()
    >>> old_CL = torch.tensor([[2.0, -1.5]])
    >>> round(SeqTis()(old_CL, torch.zeros(1, 2), mask_CL).weight_CL[0, 1].item(), 4)
    1.6487
    """

    name: Literal["seq_tis"] = "seq_tis"
    cap: Annotated[float, real(0, infinite=True)] = 2.0
    floor: Annotated[float, real(0)] = 0.0
    mean: bool = False

    def __post_init__(self) -> None:
        check_range("floor", self.floor, 0.0, self.cap)

    def __call__(
        self, logp_old_CL: Tensor, logp_behaviour_CL: Tensor | None, mask_CL: Tensor
    ) -> Correction:
        log_CL = _log_weight(logp_old_CL, logp_behaviour_CL, mask_CL, "seq_tis")
        weight_CL = _product(log_CL).clamp(self.floor, self.cap)
        return _weighed(weight_CL, torch.ones_like(mask_CL), mask_CL, self.mean, rows=True)


@config
class SeqMis:
    """Masked importance sampling per row: prod_t w_t where it is in [lo, hi], else rejected.

    TRL's default, without a lower bound. `mean` divides by the mean over the rows that are kept.

    >>> mask_CL = torch.ones(2, 2).bool()
    >>> old_CL = torch.tensor([[2.0, -1.5], [1.0, 0.5]])
    >>> SeqMis()(old_CL, torch.zeros(2, 2), mask_CL).keep_CL.tolist()
    [[True, True], [False, False]]
    """

    name: Literal["seq_mis"] = "seq_mis"
    lo: Annotated[float, real(0)] = 0.0
    hi: Annotated[float, real(0, infinite=True)] = 3.0
    mean: bool = False

    def __post_init__(self) -> None:
        check_range("lo", self.lo, 0.0, self.hi)

    def __call__(
        self, logp_old_CL: Tensor, logp_behaviour_CL: Tensor | None, mask_CL: Tensor
    ) -> Correction:
        weight_CL = _product(_log_weight(logp_old_CL, logp_behaviour_CL, mask_CL, "seq_mis"))
        inside_CL = (weight_CL >= self.lo) & (weight_CL <= self.hi)
        return _weighed(weight_CL, inside_CL, mask_CL, self.mean, rows=True)


@config
class GeoRs:
    """Reject rows whose geometric mean of w is outside [lo, hi].

    What is kept weighs 1, min(w, cap) per token or min(prod_t w_t, cap) per row. The defaults are
    verl's preset; OpenRLHF's `seq-mask-tis` is lo 0.5, hi 5, weight `token`.

    >>> mask_CL = torch.ones(2, 2).bool()
    >>> old_CL = torch.tensor([[0.1, -0.1], [0.1, 0.1]])
    >>> GeoRs()(old_CL, torch.zeros(2, 2), mask_CL).keep_CL.tolist()
    [[True, True], [False, False]]
    """

    name: Literal["geo_rs"] = "geo_rs"
    lo: Annotated[float, real(0)] = 0.999
    hi: Annotated[float, real(0, infinite=True)] = 1.001
    weight: Weighing = "none"
    cap: Annotated[float, real(0, infinite=True)] = INFINITY
    mean: bool = False

    def __post_init__(self) -> None:
        check_range("lo", self.lo, 0.0, self.hi)

    def __call__(
        self, logp_old_CL: Tensor, logp_behaviour_CL: Tensor | None, mask_CL: Tensor
    ) -> Correction:
        log_CL = _log_weight(logp_old_CL, logp_behaviour_CL, mask_CL, "geo_rs")
        geo_C1 = _row_mean(log_CL, mask_CL).exp()
        return _rows_kept(self, log_CL, (geo_C1 >= self.lo) & (geo_C1 <= self.hi), mask_CL)


@config
class K3Rs:
    """Reject rows whose mean k3 = w - 1 - log w, estimating KL(behaviour || old), is above limit.

    What is kept weighs as in `geo_rs`; the default limit is verl's preset.

    >>> mask_CL = torch.ones(2, 1).bool()
    >>> K3Rs()(torch.tensor([[0.1], [0.2]]), torch.zeros(2, 1), mask_CL).keep_CL.tolist()
    [[True], [False]]
    """

    name: Literal["k3_rs"] = "k3_rs"
    limit: Annotated[float, real(0, infinite=True)] = 0.01
    weight: Weighing = "none"
    cap: Annotated[float, real(0, infinite=True)] = INFINITY
    mean: bool = False

    def __call__(
        self, logp_old_CL: Tensor, logp_behaviour_CL: Tensor | None, mask_CL: Tensor
    ) -> Correction:
        log_CL = _log_weight(logp_old_CL, logp_behaviour_CL, mask_CL, "k3_rs")
        gap_C1 = _row_mean(torch.expm1(log_CL) - log_CL, mask_CL)
        return _rows_kept(self, log_CL, gap_C1 <= self.limit, mask_CL)


IsCorrection = Annotated[
    TokenTis | TokenMis | SeqTis | SeqMis | GeoRs | K3Rs,
    choice(),
]


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


def _product(log_CL: Tensor) -> Tensor:
    total_C1 = log_CL.sum(1, keepdim=True).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return total_C1.exp().expand_as(log_CL)


def _row_mean(values_CL: Tensor, mask_CL: Tensor) -> Tensor:
    return values_CL.sum(1, keepdim=True) / mask_CL.sum(1, keepdim=True).clamp(min=1)


def _rows_kept(own: GeoRs | K3Rs, log_CL: Tensor, keep_C1: Tensor, mask_CL: Tensor) -> Correction:
    """Keep some rows, with the weights that a component asks for."""
    weighings: dict[Weighing, Callable[[Tensor], Tensor]] = {
        "none": torch.ones_like,
        "token": torch.exp,
        "seq": _product,
    }
    weight_CL = weighings[own.weight](log_CL).clamp(max=own.cap)
    return _weighed(
        weight_CL, keep_C1.expand_as(mask_CL), mask_CL, own.mean, rows=own.weight == "seq"
    )


def _weighed(
    weight_CL: Tensor, keep_CL: Tensor, mask_CL: Tensor, mean: bool, rows: bool = False
) -> Correction:
    """Drop what is rejected and, if asked, divide by the mean over kept tokens or kept rows."""
    kept_CL = torch.where(keep_CL, weight_CL, 0.0)
    if mean:
        share_CL = (mask_CL & keep_CL).to(weight_CL.dtype)
        if rows:
            share_CL = share_CL / share_CL.sum(1, keepdim=True).clamp(min=1)
        level = (kept_CL * share_CL).sum() / share_CL.sum().clamp(min=1)
        kept_CL = torch.where(level > 0, kept_CL / level, kept_CL)
    return Correction(kept_CL, keep_CL)
