"""The policy loss: ratio, surrogate, correction, aggregation, plus regularisers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.aggregate import AGGREGATE, Denominators, token_mean
from coevo.trainers.estimators.correct import CORRECT, Correction
from coevo.trainers.estimators.option import Option, check
from coevo.trainers.estimators.regularise import REGULARISE, PolicyTerms
from coevo.trainers.estimators.surrogate import KIND, LOG_RATIO_LIMIT, RATIO_LEVEL

Stats = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class LossSpec:
    """One option for every slot of the policy loss. The defaults are GRPO without KL.

    Raises:
        UnknownNameError: An option is in no table.
        ConfigError: A parameter is unknown or of the wrong type.

    >>> LossSpec(kind=Option("dual_clip", {"c": 10.0})).aggregate.name
    'seq_mean_token_mean'
    """

    ratio_level: Option = field(default=Option("token"))
    """What shares one ratio, from RATIO_LEVEL."""
    kind: Option = field(default=Option("ppo_clip"))
    """Loss of a token, from KIND, with its clip bounds."""
    correct: Option = field(default=Option("none"))
    """Weight for the mismatch of sampler and trainer, from CORRECT."""
    regularise: tuple[Option, ...] = ()
    """Terms from REGULARISE, added as token means whatever the aggregation."""
    aggregate: Option = field(default=Option("seq_mean_token_mean"))
    """How tokens become one number, from AGGREGATE."""

    def __post_init__(self) -> None:
        check(self.ratio_level, RATIO_LEVEL, "ratio_level")
        check(self.kind, KIND, "kind")
        check(self.correct, CORRECT, "correct")
        check(self.aggregate, AGGREGATE, "aggregate")
        for term in self.regularise:
            check(term, REGULARISE, "regularise")


@dataclass(frozen=True)
class LossInputs:
    """One micro-batch of rows, all fields [B, L]; what lies outside the mask is never read.

    Raises:
        ConfigError: The shapes differ, the mask is not bool or the turns are not int64.
    """

    logp_BL: Tensor
    """Log-probability of each token now, with gradient."""
    logp_old_BL: Tensor
    """The same at the start of the update, in the trainer's numerics."""
    advantage_BL: Tensor
    """Advantage of each token; used as a constant."""
    mask_BL: Tensor
    """True at tokens that the trained policy sampled."""
    turn_id_BL: Tensor
    """Turn of each token (int64), -1 outside."""
    logp_roll_BL: Tensor | None = None
    """Log-probability that the sampler reported."""
    logp_ref_BL: Tensor | None = None
    """Log-probability under the reference policy."""
    entropy_BL: Tensor | None = None
    """Entropy at each token, with gradient if it is regularised."""
    kl_magnet_BL: Tensor | None = None
    """Exact KL to the magnet policy at each token, with gradient."""

    def __post_init__(self) -> None:
        for slot in fields(self):
            tensor = getattr(self, slot.name)
            if tensor is not None and tensor.shape != self.logp_BL.shape:
                raise ConfigError(
                    f"{slot.name} has shape {tuple(tensor.shape)}, but logp_BL has "
                    f"{tuple(self.logp_BL.shape)}"
                )
        if self.mask_BL.dtype != torch.bool or self.turn_id_BL.dtype != torch.int64:
            raise ConfigError(
                f"mask_BL is {self.mask_BL.dtype} and turn_id_BL is {self.turn_id_BL.dtype}; "
                "expected bool and int64"
            )


@dataclass(frozen=True)
class LossOut:
    """The loss of one micro-batch and numbers for the log."""

    loss: Tensor
    """This micro-batch's share of the loss of the update; call `backward` on it."""
    stats: Stats
    """0-d tensors without gradient: means over the tokens kept here, see `merge_stats`."""


def policy_loss(spec: LossSpec, inputs: LossInputs, denom: Denominators) -> LossOut:
    """Compute one micro-batch's share of the policy loss.

    Args:
        spec: Options of the loss.
        inputs: Rows of the micro-batch, any padding.
        denom: Counts over all micro-batches of the update. Under a correction that rejects
            tokens count `kept_mask`, not the raw mask.

    Raises:
        ConfigError: An option needs an input that is None.

    >>> from coevo.trainers.estimators import count
    >>> logp_BL = torch.tensor([[-1.0, -2.0]], requires_grad=True)
    >>> mask_BL, turn_BL = torch.ones(1, 2).bool(), torch.zeros(1, 2).long()
    >>> inputs = LossInputs(logp_BL, logp_BL.detach(), torch.ones(1, 2), mask_BL, turn_BL)
    >>> out = policy_loss(LossSpec(), inputs, count(mask_BL, 2))
    >>> float(out.loss.detach()), float(out.stats["clip_fraction"])
    (-1.0, 0.0)
    """
    x = _prepare(inputs)
    ratio_level, kind = RATIO_LEVEL[spec.ratio_level.name], KIND[spec.kind.name]
    log_ratio_BL = ratio_level(
        x.logp_BL, x.logp_old_BL, x.mask_BL, x.turn_id_BL, **spec.ratio_level.params
    )
    ratio_BL = log_ratio_BL.exp()
    loss_BL, gate_BL = kind(ratio_BL, x.advantage_BL, x.logp_BL, **spec.kind.params)

    weight_BL, keep_BL = _correction(spec, x.logp_old_BL, x.logp_roll_BL, x.mask_BL)
    kept_BL = x.mask_BL & keep_BL
    aggregate = AGGREGATE[spec.aggregate.name]
    loss = aggregate(loss_BL * weight_BL, kept_BL, denom, **spec.aggregate.params)
    stats = _stats(x, kept_BL, ratio_BL.detach(), gate_BL) | {"loss/policy": loss.detach()}

    terms = PolicyTerms(x.logp_BL, x.logp_ref_BL, x.entropy_BL, x.kl_magnet_BL)
    for regulariser in spec.regularise:
        term = REGULARISE[regulariser.name](terms, **regulariser.params)
        loss = loss + token_mean(term.loss_BL, kept_BL, denom)
        stats[regulariser.name] = _mean(term.value_BL, kept_BL)
    return LossOut(loss, stats)


def kept_mask(
    spec: LossSpec, logp_old_BL: Tensor, logp_roll_BL: Tensor | None, mask_BL: Tensor
) -> Tensor:
    """Give the mask without the tokens that the correction rejects, to count denominators with.

    >>> old_BL, mask_BL = torch.tensor([[0.0, 2.0]]), torch.ones(1, 2).bool()
    >>> kept_mask(LossSpec(correct=Option("token_mis")), old_BL, torch.zeros(1, 2), mask_BL)
    tensor([[ True, False]])
    """
    return mask_BL & _correction(spec, logp_old_BL, logp_roll_BL, mask_BL).keep_BL


def merge_stats(parts: Sequence[Stats]) -> dict[str, float]:
    """Join micro-batches: sums of tokens and losses, maxima of `/max`, token means of the rest.

    >>> one = {"tokens": torch.tensor(1.0), "entropy": torch.tensor(2.0)}
    >>> merge_stats([one, {"tokens": torch.tensor(3.0), "entropy": torch.tensor(0.0)}])
    {'tokens': 4.0, 'entropy': 0.5}
    """
    if not parts:
        return {}
    tokens = [float(part["tokens"]) for part in parts]
    total = max(sum(tokens), 1.0)
    merged = {}
    for name in parts[0]:
        values = [float(part[name]) for part in parts]
        if name.endswith("/max"):
            merged[name] = max(values)
        elif name.startswith(("tokens", "loss/")):
            merged[name] = sum(values)
        else:
            merged[name] = sum(n * v for n, v in zip(tokens, values, strict=True)) / total
    return merged


def _prepare(inputs: LossInputs) -> LossInputs:
    """Raise every float field to float32 or better and blank what lies outside the mask."""
    dtype = torch.promote_types(inputs.logp_BL.dtype, torch.float32)
    blank = {}
    for slot in fields(inputs):
        tensor = getattr(inputs, slot.name)
        if tensor is not None and slot.name not in ("mask_BL", "turn_id_BL"):
            tensor = torch.where(inputs.mask_BL, tensor.to(dtype), 0.0)
        blank[slot.name] = tensor
    constants = ("logp_old_BL", "advantage_BL", "logp_roll_BL", "logp_ref_BL")
    return LossInputs(
        **{k: v.detach() if k in constants and v is not None else v for k, v in blank.items()}
    )


def _correction(
    spec: LossSpec, logp_old_BL: Tensor, logp_roll_BL: Tensor | None, mask_BL: Tensor
) -> Correction:
    function = CORRECT[spec.correct.name]
    correction: Correction = function(logp_old_BL, logp_roll_BL, mask_BL, **spec.correct.params)
    return correction


@torch.no_grad()
def _stats(x: LossInputs, kept_BL: Tensor, ratio_BL: Tensor, gate_BL: Tensor) -> Stats:
    log_BL = (x.logp_BL - x.logp_old_BL).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    tokens = kept_BL.sum().to(ratio_BL.dtype)
    stats = {
        "tokens": tokens,
        "tokens/rejected": (x.mask_BL & ~kept_BL).sum().to(ratio_BL.dtype),
        "clip_fraction": _mean((~gate_BL).to(ratio_BL.dtype), kept_BL),
        "approx_kl": _mean(torch.expm1(log_BL) - log_BL, kept_BL),
        "ratio/mean": _mean(ratio_BL, kept_BL),
        "ratio/max": torch.where(kept_BL, ratio_BL, 0.0).amax() if ratio_BL.numel() else tokens,
    }
    if x.entropy_BL is not None:
        stats["entropy"] = _mean(x.entropy_BL, kept_BL)
    return stats


@torch.no_grad()
def _mean(value_BL: Tensor, mask_BL: Tensor) -> Tensor:
    return torch.where(mask_BL, value_BL.detach(), 0.0).sum() / mask_BL.sum().clamp(min=1)
