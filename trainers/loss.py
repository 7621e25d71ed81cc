"""The policy loss: ratio, surrogate, correction, aggregation, plus regularisers; the critic's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config as component
from coevo.envs.core.errors import ConfigError
from coevo.trainers.batch import Batch
from coevo.trainers.components.base import Denominators, LossComponent
from coevo.trainers.components.corrections import AnyCorrection, effective_share
from coevo.trainers.components.masks import AnyTokenMask
from coevo.trainers.components.ratios import LOG_RATIO_LIMIT, AnyRatio, TokenRatio, finite
from coevo.trainers.components.regularisers import AnyRegulariser
from coevo.trainers.components.surrogates import (
    AnyAggregation,
    AnySurrogate,
    PpoClip,
    SeqMeanTokenMean,
    TokenMean,
)

Stats = dict[str, Tensor]
"""0-d tensors without gradient: means over the tokens kept in a micro-batch, see `merge_stats`."""
SUMS = "sum/"
"""Begins the names of totals from which controllers and other numbers are computed."""
CONSTANTS = ("logp_old_CL", "advantage_CL", "logp_behaviour_CL", "logp_ref_CL")
"""What the loss reads that never carries a gradient."""
READ = (*CONSTANTS, "logp_CL", "entropy_CL", "kl_magnet_CL", "kl_reference_CL")


@component
class LossConfig:
    """The components of the policy loss. The defaults are GRPO without KL.

    >>> from coevo.trainers.components.surrogates import DualClip
    >>> LossConfig(surrogate=DualClip(c=10.0)).aggregate.name
    'seq_mean_token_mean'
    """

    ratio_level: AnyRatio = field(default_factory=TokenRatio)
    """What shares one ratio."""
    surrogate: AnySurrogate = field(default_factory=PpoClip)
    """Loss of a token, with its clip bounds."""
    anchor: Literal["old", "behaviour"] = "old"
    """Denominator of the ratio: the trainer's recomputation, or the sampler's own numbers, which
    then correct for the sampler as well."""
    token_masks: tuple[AnyTokenMask, ...] = ()
    """A token teaches if all masks keep it."""
    is_correction: AnyCorrection | None = None
    """Weight for the mismatch of sampler and trainer."""
    regularise: tuple[AnyRegulariser, ...] = ()
    """Terms beside the surrogate. Those on what was sampled are aggregated like it, as GRPO has
    it; those on whole distributions are token means."""
    aggregate: AnyAggregation = field(default_factory=SeqMeanTokenMean)
    """How tokens become one number."""

    def __post_init__(self) -> None:
        if self.is_correction is not None and self.ratio_corrects:
            own = "anchor='behaviour'" if self.anchor == "behaviour" else self.surrogate.name
            raise ConfigError(
                f"loss: {own} and is_correction={self.is_correction.name!r} count the sampler's "
                "difference twice: the ratio to the sampler already corrects; use one of them"
            )
        names = [c.name for c in self.components]
        for name in {n for n in names if names.count(n) > 1}:
            raise ConfigError(f"loss names {name!r} twice; what it measures has one place only")

    @property
    def ratio_corrects(self) -> bool:
        """Whether the ratio is to the sampler's own numbers."""
        return self.anchor == "behaviour" or self.surrogate.corrects_sampler

    @property
    def corrects(self) -> bool:
        """Whether it makes up for what was sampled by other weights than those that learn."""
        return self.ratio_corrects or self.is_correction is not None

    @property
    def components(self) -> tuple[LossComponent, ...]:
        """Token masks, surrogate and regularisers."""
        return (*self.token_masks, self.surrogate, *self.regularise)

    @property
    def measuring(self) -> tuple[LossComponent, ...]:
        """The components that look at the current policy over a whole mini-batch."""
        return tuple(c for c in self.components if c.needs_batch_statistics)

    @property
    def acts_at_zero(self) -> bool:
        """Whether a context whose advantage is 0 everywhere has a gradient."""
        return any(c.acts_at_zero for c in self.components)

    @property
    def needs_batch_statistics(self) -> bool:
        """Whether `batch_statistics` must see the whole mini-batch before it is split."""
        return bool(self.measuring) or self.is_correction is not None


def policy_loss(config: LossConfig, batch: Batch, denom: Denominators) -> tuple[Tensor, Stats]:
    """Compute one micro-batch's share of the policy loss.

    Where the batch lacks statistics that the loss needs, its contexts are taken for the whole
    mini-batch. `denom` counts all micro-batches of the update; under a correction that rejects
    tokens it counts `kept_mask`, not the raw mask.

    Returns:
        The loss, for `backward`, and numbers for the log.

    Raises:
        ConfigError: A component needs an input that is None.

    >>> batch = Batch.from_tokens(torch.tensor([[-1.0, -2.0]], requires_grad=True))
    >>> loss, stats = policy_loss(LossConfig(), batch, Denominators.of(batch.mask_CL, 2))
    >>> float(loss.detach()), float(stats["clip_fraction"])
    (-1.0, 0.0)
    """
    if config.needs_batch_statistics and not batch.statistics:
        batch = replace(batch, statistics=batch_statistics(config, batch))
    x = _readable(batch)
    anchored = _anchored(config, x)
    log_ratio_CL = config.ratio_level(x.logp_CL, anchored.logp_old_CL, x.mask_CL, x.turn_CL)
    ratio_CL = log_ratio_CL.exp()
    loss_CL, unclipped_CL = config.surrogate(ratio_CL, anchored)
    for mask in config.token_masks:
        unclipped_CL = unclipped_CL & x.statistics[mask.name]
        loss_CL = torch.where(x.statistics[mask.name], loss_CL, 0.0)
    kept_CL = x.mask_CL & x.statistics.get("is_correction/keep", x.mask_CL)
    weight_CL = x.statistics.get("is_correction/weight", torch.ones_like(loss_CL))
    loss = config.aggregate(loss_CL * weight_CL, kept_CL, denom)

    stats = token_stats(x, kept_CL, ratio_CL.detach(), unclipped_CL)
    stats["loss/policy"] = loss.detach()
    if config.is_correction is not None:
        stats |= weight_stats(weight_CL, kept_CL)
    for regulariser in config.regularise:
        term = regulariser(x)
        mean = TokenMean() if regulariser.always_token_mean else config.aggregate
        loss = loss + mean(term.loss_CL, kept_CL, denom)
        stats[regulariser.name] = used_mean(term.value_CL, kept_CL)
        stats |= term.stats
    return loss, stats


@torch.no_grad()
def batch_statistics(
    config: LossConfig, batch: Batch, generator: torch.Generator | None = None
) -> dict[str, Tensor]:
    """Return what cannot be decided in a part of one optimiser step, from all its contexts.

    No gradient is followed. The values, [C, L], are `Batch.statistics`; micro-batches take their
    contexts of them.

    >>> from coevo.trainers.components.corrections import TokenMis
    >>> x = Batch.from_tokens([[0.0, 2.0]], logp_behaviour_CL=torch.zeros(1, 2))
    >>> batch_statistics(LossConfig(is_correction=TokenMis()), x)["is_correction/keep"].tolist()
    [[True, False]]
    """
    x = _readable(batch)
    anchored = _anchored(config, x)
    found = {c.name: c.batch_statistics(anchored, generator) for c in config.measuring}
    if config.is_correction is not None:
        weight_CL, keep_CL = config.is_correction(x.logp_old_CL, x.logp_behaviour_CL, x.mask_CL)
        found |= {"is_correction/weight": weight_CL, "is_correction/keep": keep_CL}
    return found


def control(
    config: LossConfig, state: Mapping[str, Any], stats: Mapping[str, float]
) -> dict[str, Any]:
    """Return what regularisers keep for the next update (`Batch.state`), from this one's means.

    >>> control(LossConfig(), {"kept": 1.0}, {"entropy": 0.5})
    {'kept': 1.0}
    """
    after = dict(state)
    for regulariser in config.regularise:
        after |= regulariser.control(after, stats)
    return after


def kept_mask(
    config: LossConfig, logp_old_CL: Tensor, logp_behaviour_CL: Tensor | None, mask_CL: Tensor
) -> Tensor:
    """Return the mask without the tokens that the correction rejects, to count denominators with.

    >>> from coevo.trainers.components.corrections import TokenMis
    >>> old_CL, mask_CL = torch.tensor([[0.0, 2.0]]), torch.ones(1, 2).bool()
    >>> kept_mask(LossConfig(is_correction=TokenMis()), old_CL, torch.zeros(1, 2), mask_CL)
    tensor([[ True, False]])
    """
    if config.is_correction is None:
        return mask_CL
    return mask_CL & config.is_correction(logp_old_CL, logp_behaviour_CL, mask_CL).keep_CL


def _readable(batch: Batch) -> Batch:
    """Raise floats to float32 or better, blank what is outside the mask and raise -inf.

    Zero times what is there would be NaN otherwise.
    """
    _check(batch)
    dtype = torch.promote_types(batch.logp_CL.dtype, torch.float32)

    def clean(name: str, tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return tensor
        kept_CL = torch.where(batch.mask_CL, tensor.to(dtype), 0.0)
        kept_CL = kept_CL.detach() if name in CONSTANTS else kept_CL
        return finite(kept_CL) if name.startswith("logp_") else kept_CL

    changes: dict[str, Any] = {
        name: clean(name, tensor) for name in READ if (tensor := getattr(batch, name)) is not None
    }
    statistics = {name: clean(name, tensor) for name, tensor in batch.statistics.items()}
    return replace(batch, **changes, statistics=statistics)


def _check(batch: Batch) -> None:
    """Refuse tensors of different shapes, a mask that is not bool, turns that are not int64."""
    shape = batch.logp_CL.shape
    given = {name: getattr(batch, name) for name in (*READ, "mask_CL", "turn_CL")}
    given |= {f"statistics/{name}": tensor for name, tensor in batch.statistics.items()}
    for name, tensor in given.items():
        if tensor is not None and tensor.shape != shape:
            raise ConfigError(
                f"{name} has shape {tuple(tensor.shape)}, but logp_CL has {tuple(shape)}"
            )
    if batch.mask_CL.dtype != torch.bool or batch.turn_CL.dtype != torch.int64:
        raise ConfigError(
            f"mask_CL is {batch.mask_CL.dtype} and turn_CL is {batch.turn_CL.dtype}; "
            "expected bool and int64"
        )


def _anchored(config: LossConfig, x: Batch) -> Batch:
    """Return surrogates and masks the policy that ratios refer to in the place of the old one."""
    if config.anchor == "old":
        return x
    return replace(x, logp_old_CL=x.needed("logp_behaviour_CL", "anchor behaviour"))


# ---- The critic ------------------------------------------------------------------------------


def value_loss(
    value_CL: Tensor,
    value_old_CL: Tensor,
    return_CL: Tensor,
    mask_CL: Tensor,
    denom: Denominators,
    *,
    clip: float = 0.2,
) -> tuple[Tensor, Stats]:
    """PPO value loss: token mean of 0.5 max((v - R)^2, (clip(v, v_old ± clip) - R)^2).

    The old values are those that the advantages were computed with; the mask says where there is a
    target (`Batch.return_mask_CL`), and `denom` counts it over the whole update. An infinite `clip`
    turns the clip off.

    Raises:
        ConfigError: Shapes differ.

    >>> v_CL, mask_CL = torch.tensor([[1.0]]), torch.ones(1, 1).bool()
    >>> zero_CL = torch.zeros(1, 1)
    >>> loss, _ = value_loss(v_CL, zero_CL, 1.0 + zero_CL, mask_CL, Denominators.of(mask_CL, 1))
    >>> round(float(loss), 4)
    0.32
    """
    tensors = (value_CL, value_old_CL, return_CL, mask_CL)
    if len({tensor.shape for tensor in tensors}) > 1:
        raise ConfigError(f"value_loss got the shapes {[tuple(t.shape) for t in tensors]}")
    dtype = torch.promote_types(value_CL.dtype, torch.float32)
    value_CL = torch.where(mask_CL, value_CL.to(dtype), 0.0)
    old_CL = torch.where(mask_CL, value_old_CL.detach().to(dtype), 0.0)
    target_CL = torch.where(mask_CL, return_CL.detach().to(dtype), 0.0)

    near_CL = old_CL + (value_CL - old_CL).clamp(-clip, clip)
    square_CL, near_square_CL = (value_CL - target_CL) ** 2, (near_CL - target_CL) ** 2
    loss = 0.5 * TokenMean()(torch.maximum(square_CL, near_square_CL), mask_CL, denom)

    used = mask_CL.sum().clamp(min=1)
    stats = {
        "tokens": mask_CL.sum().to(dtype),
        "loss/value": loss.detach(),
        "value/clip_fraction": (near_square_CL > square_CL).sum() / used,
        "value/mean": value_CL.detach().sum() / used,
    }
    return loss, stats


# ---- Numbers for the log ---------------------------------------------------------------------


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
    """Leave out the totals, which mean nothing by themselves."""
    return {name: value for name, value in merged.items() if not name.startswith(SUMS)}


@torch.no_grad()
def token_stats(x: Batch, kept_CL: Tensor, ratio_CL: Tensor, unclipped_CL: Tensor) -> Stats:
    """Measure ratios, clipping, distance and entropy over the tokens that are kept."""
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
    """Sum the weights of a correction and their squares, for the effective share of the tokens."""
    used_CL = torch.where(kept_CL, weight_CL, 0.0)
    return {
        "sum/is_correction/weight": used_CL.sum(),
        "sum/is_correction/square": (used_CL**2).sum(),
    }


@torch.no_grad()
def used_mean(value_CL: Tensor, mask_CL: Tensor) -> Tensor:
    """Average over a mask, 0 where it is empty; the result carries no gradient."""
    return torch.where(mask_CL, value_CL.detach(), 0.0).sum() / mask_CL.sum().clamp(min=1)
