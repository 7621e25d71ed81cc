"""Numbers that a micro-batch leaves for the log, and how those of an update are joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.is_correction import effective_share
from coevo.trainers.estimators.ratio import LOG_RATIO_LIMIT

Stats = dict[str, Tensor]
SUMS = "sum/"
"""Begins the names of totals from which controllers and other numbers are computed."""


def merge_stats(parts: Sequence[Stats]) -> dict[str, float]:
    """Join micro-batches: add tokens, losses and `sum/`, maxima of `/max`, token means of the rest.

    >>> one = {"tokens": torch.tensor(1.0), "entropy": torch.tensor(2.0)}
    >>> merge_stats([one, {"tokens": torch.tensor(3.0), "entropy": torch.tensor(0.0)}])
    {'tokens': 4.0, 'entropy': 0.5}
    """
    if not parts:
        return {}
    tokens = [float(part["tokens"]) for part in parts]
    total = max(sum(tokens), 1.0)
    merged = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        values = [float(part.get(name, 0.0)) for part in parts]
        if name.endswith("/max"):
            merged[name] = max(values)
        elif name.startswith(("tokens", "loss/", SUMS)):
            merged[name] = sum(values)
        else:
            merged[name] = sum(n * v for n, v in zip(tokens, values, strict=True)) / total
    if "sum/is_correction/weight" in merged:
        sums = (merged["sum/is_correction/weight"], merged["sum/is_correction/square"])
        seen = merged["tokens"] + merged.get("tokens/rejected", 0.0)
        merged["is_correction/mean"] = sums[0] / max(seen, 1.0)
        merged["is_correction/effective"] = effective_share(*sums, seen)
    return merged


def for_log(merged: Mapping[str, float]) -> dict[str, float]:
    """Leave out the totals, which mean nothing by themselves.

    >>> for_log({"entropy": 0.5, "sum/epo/tokens/0": 12.0})
    {'entropy': 0.5}
    """
    return {name: value for name, value in merged.items() if not name.startswith(SUMS)}


@torch.no_grad()
def token_stats(x: LossInputs, kept_CL: Tensor, ratio_CL: Tensor, unclipped_CL: Tensor) -> Stats:
    """Measure ratios, clipping, distance and entropy over the tokens that are kept.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0, -1.0]])
    >>> seen = token_stats(x, x.mask_CL, torch.tensor([[1.0, 3.0]]), x.mask_CL)
    >>> seen["ratio/mean"].item(), seen["ratio/max"].item(), seen["tokens"].item()
    (2.0, 3.0, 2.0)
    """
    log_CL = (x.logp_CL - x.logp_old_CL).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    tokens = kept_CL.sum().to(ratio_CL.dtype)
    stats = {
        "tokens": tokens,
        "tokens/rejected": (x.mask_CL & ~kept_CL).sum().to(ratio_CL.dtype),
        "clip_fraction": used_mean((~unclipped_CL).to(ratio_CL.dtype), kept_CL),
        "approx_kl": used_mean(torch.expm1(log_CL) - log_CL, kept_CL),
        "ratio/mean": used_mean(ratio_CL, kept_CL),
        "ratio/max": torch.where(kept_CL, ratio_CL, 0.0).amax() if ratio_CL.numel() else tokens,
    }
    if x.entropy_CL is not None:
        stats["entropy"] = used_mean(x.entropy_CL, kept_CL)
    return stats


@torch.no_grad()
def weight_stats(weight_CL: Tensor, kept_CL: Tensor) -> Stats:
    """Sum the weights of a correction and their squares, for the effective share of the tokens.

    >>> weight_stats(torch.tensor([[2.0, 9.0]]), torch.tensor([[True, False]]))
    {'sum/is_correction/weight': tensor(2.), 'sum/is_correction/square': tensor(4.)}
    """
    used_CL = torch.where(kept_CL, weight_CL, 0.0)
    return {
        "sum/is_correction/weight": used_CL.sum(),
        "sum/is_correction/square": (used_CL**2).sum(),
    }


@torch.no_grad()
def used_mean(value_CL: Tensor, mask_CL: Tensor) -> Tensor:
    """Average over a mask, 0 where it is empty; the result carries no gradient.

    >>> used_mean(torch.tensor([[2.0, 9.0]]), torch.tensor([[True, False]]))
    tensor(2.)
    """
    return torch.where(mask_CL, value_CL.detach(), 0.0).sum() / mask_CL.sum().clamp(min=1)
