"""The policy loss: ratio, surrogate, correction, aggregation, plus regularisers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.aggregate import AGGREGATE, Denominators, token_mean
from coevo.trainers.estimators.correct import CORRECT, Correction
from coevo.trainers.estimators.inputs import LossInputs, blank
from coevo.trainers.estimators.loss_stats import (
    Stats,
    merge_stats,
    token_stats,
    used_mean,
    weight_stats,
)
from coevo.trainers.estimators.option import Option, accepted, check
from coevo.trainers.estimators.ratio import RATIO_LEVEL, finite
from coevo.trainers.estimators.regularise import CONTROL, REGULARISE, TOKEN_MEANS
from coevo.trainers.estimators.surrogate import KIND
from coevo.trainers.estimators.survey import GATE, SURVEY

__all__ = [
    "LossOut",
    "LossSpec",
    "control",
    "kept_mask",
    "merge_stats",
    "policy_loss",
    "survey",
]

RESTLESS = frozenset({"opmd"})
"""Kinds with a gradient where the advantage is 0."""


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
    anchor: Literal["old", "roll"] = "old"
    """Denominator of the ratio: the trainer's recomputation, or the sampler's own numbers, which
    then correct for the sampler as well."""
    gates: tuple[Option, ...] = ()
    """Gates from GATE; a token teaches if all of them keep it."""
    correct: Option = field(default=Option("none"))
    """Weight for the mismatch of sampler and trainer, from CORRECT."""
    regularise: tuple[Option, ...] = ()
    """Terms from REGULARISE. Those on what was sampled are aggregated like the policy loss, as
    GRPO has it; those on whole distributions are token means (`TOKEN_MEANS`)."""
    aggregate: Option = field(default=Option("seq_mean_token_mean"))
    """How tokens become one number, from AGGREGATE."""

    def __post_init__(self) -> None:
        check(self.ratio_level, RATIO_LEVEL, "ratio_level")
        check(self.kind, KIND, "kind")
        check(self.correct, CORRECT, "correct")
        check(self.aggregate, AGGREGATE, "aggregate")
        for gate in self.gates:
            check(gate, GATE, "gates")
        for term in self.regularise:
            check(term, REGULARISE, "regularise")
        if self.anchor not in ("old", "roll"):
            raise ConfigError(f"loss.anchor={self.anchor!r} must be 'old' or 'roll'")
        own = "loss.anchor='roll'" if self.anchor == "roll" else f"loss.kind={self.kind.name!r}"
        if self.correct.name != "none" and (self.anchor == "roll" or self.kind.name == "remix"):
            raise ConfigError(
                f"{own} and loss.correct={self.correct.name!r} count the sampler's "
                "difference twice: the ratio to the sampler already corrects; use one of them"
            )
        names = [o.name for o in (*self.gates, self.kind, *self.regularise)]
        for name in {n for n in names if names.count(n) > 1}:
            raise ConfigError(f"loss names {name!r} twice; what it measures has one place only")

    @property
    def surveying(self) -> tuple[Option, ...]:
        """The options that look at the current policy over a whole mini-batch."""
        return tuple(o for o in (*self.gates, self.kind, *self.regularise) if _surveys(o.name))

    @property
    def rests(self) -> bool:
        """Whether a row whose advantage is 0 everywhere has no gradient."""
        return not self.regularise and self.kind.name not in RESTLESS

    @property
    def needs_survey(self) -> bool:
        """Whether `survey` must see the whole mini-batch before it is split."""
        return bool(self.surveying) or self.correct.name != "none"


@dataclass(frozen=True)
class LossOut:
    """The loss of one micro-batch and numbers for the log."""

    loss: Tensor
    """This micro-batch's share of the loss of the update; call `backward` on it."""
    stats: Stats
    """0-d tensors without gradient: means over the tokens kept here, see `merge_stats`."""


@torch.no_grad()
def survey(
    spec: LossSpec, inputs: LossInputs, generator: torch.Generator | None = None
) -> dict[str, Tensor]:
    """Look at all rows of one optimiser step, for what cannot be decided in a part of them.

    Args:
        spec: Options of the loss.
        inputs: All rows of the mini-batch; gradients are not followed.
        generator: For the options that draw; torch's own where not given.

    Returns:
        Values for `LossInputs.surveyed`, [B, L]; micro-batches take their rows of them.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[0.0, 2.0]], logp_roll_BL=torch.zeros(1, 2))
    >>> survey(LossSpec(correct=Option("token_mis")), x)["correct/keep"].tolist()
    [[True, False]]
    """
    x, found = _readable(inputs), {}
    anchored = _anchored(spec, x)
    for option in spec.surveying:
        function = GATE.get(option.name) or SURVEY[option.name]
        found[option.name] = function(anchored, generator, **accepted(function, option.params))
    if spec.correct.name != "none":
        weight_BL, keep_BL = _correction(spec, x.logp_old_BL, x.logp_roll_BL, x.mask_BL)
        found |= {"correct/weight": weight_BL, "correct/keep": keep_BL}
    return found


def policy_loss(spec: LossSpec, inputs: LossInputs, denom: Denominators) -> LossOut:
    """Compute one micro-batch's share of the policy loss.

    Args:
        spec: Options of the loss.
        inputs: Rows of the micro-batch, any padding. Where the spec `needs_survey` and nothing is
            surveyed, these rows are taken for the whole mini-batch.
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
    if spec.needs_survey and not inputs.surveyed:
        inputs = replace(inputs, surveyed=survey(spec, inputs))
    x = _readable(inputs)
    anchored = _anchored(spec, x)
    ratio_level, kind = RATIO_LEVEL[spec.ratio_level.name], KIND[spec.kind.name]
    log_ratio_BL = ratio_level(
        x.logp_BL, anchored.logp_old_BL, x.mask_BL, x.turn_id_BL, **spec.ratio_level.params
    )
    ratio_BL = log_ratio_BL.exp()
    loss_BL, gate_BL = kind(ratio_BL, anchored, **spec.kind.params)
    for gate in spec.gates:
        gate_BL = gate_BL & x.surveyed[gate.name]
        loss_BL = torch.where(x.surveyed[gate.name], loss_BL, 0.0)

    kept_BL = x.mask_BL & x.surveyed.get("correct/keep", x.mask_BL)
    weight_BL = x.surveyed.get("correct/weight", torch.ones_like(loss_BL))
    aggregate = AGGREGATE[spec.aggregate.name]
    loss = aggregate(loss_BL * weight_BL, kept_BL, denom, **spec.aggregate.params)
    stats = token_stats(x, kept_BL, ratio_BL.detach(), gate_BL) | {"loss/policy": loss.detach()}
    if spec.correct.name != "none":
        stats |= weight_stats(weight_BL, kept_BL)

    for regulariser in spec.regularise:
        term = REGULARISE[regulariser.name](x, **regulariser.params)
        if regulariser.name in TOKEN_MEANS:
            loss = loss + token_mean(term.loss_BL, kept_BL, denom)
        else:
            loss = loss + aggregate(term.loss_BL, kept_BL, denom, **spec.aggregate.params)
        stats[regulariser.name] = used_mean(term.value_BL, kept_BL)
        stats |= term.stats
    return LossOut(loss, stats)


def control(spec: LossSpec, state: Mapping[str, Any], stats: Mapping[str, float]) -> dict[str, Any]:
    """Move what regularisers keep between updates, once per update.

    Args:
        spec: Options of the loss.
        state: As it was during the update.
        stats: Means over the update, from `merge_stats`.

    Returns:
        The state for the next update (`LossInputs.state`).

    >>> control(LossSpec(), {"kept": 1.0}, {"entropy": 0.5})
    {'kept': 1.0}
    """
    after = dict(state)
    for option in spec.regularise:
        if option.name in CONTROL:
            move = CONTROL[option.name]
            after |= move(after, stats, **accepted(move, option.params))
    return after


def kept_mask(
    spec: LossSpec, logp_old_BL: Tensor, logp_roll_BL: Tensor | None, mask_BL: Tensor
) -> Tensor:
    """Give the mask without the tokens that the correction rejects, to count denominators with.

    >>> old_BL, mask_BL = torch.tensor([[0.0, 2.0]]), torch.ones(1, 2).bool()
    >>> kept_mask(LossSpec(correct=Option("token_mis")), old_BL, torch.zeros(1, 2), mask_BL)
    tensor([[ True, False]])
    """
    return mask_BL & _correction(spec, logp_old_BL, logp_roll_BL, mask_BL).keep_BL


def _readable(inputs: LossInputs) -> LossInputs:
    """Blank what is outside the mask and raise -inf: 0 times it would be NaN."""
    x = blank(inputs)
    names = ("logp_BL", "logp_old_BL", "logp_roll_BL", "logp_ref_BL")
    given = {n: t for n in names if (t := getattr(x, n)) is not None}
    changes: dict[str, Any] = {n: finite(t) for n, t in given.items()}
    return replace(x, **changes)


def _anchored(spec: LossSpec, x: LossInputs) -> LossInputs:
    """Give kinds and gates the policy that ratios refer to in the place of the old one."""
    if spec.anchor == "old":
        return x
    return replace(x, logp_old_BL=x.needed("logp_roll_BL", "anchor roll"))


def _surveys(name: str) -> bool:
    return name in GATE or name in SURVEY


def _correction(
    spec: LossSpec, logp_old_BL: Tensor, logp_roll_BL: Tensor | None, mask_BL: Tensor
) -> Correction:
    function = CORRECT[spec.correct.name]
    correction: Correction = function(logp_old_BL, logp_roll_BL, mask_BL, **spec.correct.params)
    return correction
