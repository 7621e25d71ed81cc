"""The policy loss: ratio, surrogate, correction, aggregation, plus regularisers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import choice
from coevo.envs.core.config import config as component
from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.aggregate import (
    Aggregation,
    Denominators,
    SeqMeanTokenMean,
    TokenMean,
)
from coevo.trainers.estimators.component import LossComponent
from coevo.trainers.estimators.entropy import AdaptiveEntropy, Entropy, Nll
from coevo.trainers.estimators.epo import Epo
from coevo.trainers.estimators.hapo import Hapo
from coevo.trainers.estimators.inputs import LossInputs, blank
from coevo.trainers.estimators.is_correction import IsCorrection
from coevo.trainers.estimators.kl import ConvexKl, Kl, KlCov, MagnetKl
from coevo.trainers.estimators.loss_stats import (
    Stats,
    token_stats,
    used_mean,
    weight_stats,
)
from coevo.trainers.estimators.ratio import RatioLevel, TokenRatio, finite
from coevo.trainers.estimators.surrogate_clip import (
    Cispo,
    DualClip,
    Gmpo,
    PolicyGradient,
    PpoClip,
    Preclip,
    Sapo,
    Unclipped,
)
from coevo.trainers.estimators.surrogate_offpolicy import Opmd, Rec, RemixClip, Topr
from coevo.trainers.estimators.token_masks import TokenMask

Surrogate = Annotated[
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
    choice(),
]
"""Loss of every token before aggregation, to be minimised; the advantage is a constant.

P3O with clipped sides is `ppo_clip` on pairs; its on-policy form is `pg` with leave-one-out.
"""

Regulariser = Annotated[
    Kl | ConvexKl | KlCov | MagnetKl | Entropy | AdaptiveEntropy | Epo | Nll,
    choice(),
]
"""Terms per token that are added to the policy loss."""


@component
class LossConfig:
    """The components of the policy loss. The defaults are GRPO without KL.

    >>> from coevo.trainers.estimators import DualClip
    >>> LossConfig(surrogate=DualClip(c=10.0)).aggregate.name
    'seq_mean_token_mean'
    """

    ratio_level: RatioLevel = field(default_factory=TokenRatio)
    """What shares one ratio."""
    surrogate: Surrogate = field(default_factory=PpoClip)
    """Loss of a token, with its clip bounds."""
    anchor: Literal["old", "behaviour"] = "old"
    """Denominator of the ratio: the trainer's recomputation, or the sampler's own numbers, which
    then correct for the sampler as well."""
    token_masks: tuple[TokenMask, ...] = ()
    """A token teaches if all masks keep it."""
    is_correction: IsCorrection | None = None
    """Weight for the mismatch of sampler and trainer."""
    regularise: tuple[Regulariser, ...] = ()
    """Terms beside the surrogate. Those on what was sampled are aggregated like it, as GRPO has
    it; those on whole distributions are token means."""
    aggregate: Aggregation = field(default_factory=SeqMeanTokenMean)
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
        """Whether a sequence whose advantage is 0 everywhere has a gradient."""
        return any(c.acts_at_zero for c in self.components)

    @property
    def needs_batch_statistics(self) -> bool:
        """Whether `batch_statistics` must see the whole mini-batch before it is split."""
        return bool(self.measuring) or self.is_correction is not None


@dataclass(frozen=True)
class LossOut:
    """The loss of one micro-batch and numbers for the log."""

    loss: Tensor
    """This micro-batch's share of the loss of the update; call `backward` on it."""
    stats: Stats
    """0-d tensors without gradient: means over the tokens kept here, see `merge_stats`."""


@torch.no_grad()
def batch_statistics(
    config: LossConfig, inputs: LossInputs, generator: torch.Generator | None = None
) -> dict[str, Tensor]:
    """Return what cannot be decided in a part of one optimiser step, from all its sequences.

    Args:
        config: components of the loss.
        inputs: all sequences of the mini-batch; gradients are not followed.
        generator: for the components that draw; torch's own where not given.

    Returns:
        Values for `LossInputs.statistics`, [C, L]; micro-batches take their sequences of them.

    >>> from coevo.trainers.estimators import TokenMis, from_tokens
    >>> x = from_tokens([[0.0, 2.0]], logp_behaviour_CL=torch.zeros(1, 2))
    >>> batch_statistics(LossConfig(is_correction=TokenMis()), x)["is_correction/keep"].tolist()
    [[True, False]]
    """
    x = _readable(inputs)
    anchored = _anchored(config, x)
    found = {c.name: c.batch_statistics(anchored, generator) for c in config.measuring}
    if config.is_correction is not None:
        weight_CL, keep_CL = config.is_correction(x.logp_old_CL, x.logp_behaviour_CL, x.mask_CL)
        found |= {"is_correction/weight": weight_CL, "is_correction/keep": keep_CL}
    return found


def policy_loss(config: LossConfig, inputs: LossInputs, denom: Denominators) -> LossOut:
    """Compute one micro-batch's share of the policy loss.

    Args:
        config: components of the loss.
        inputs: Rows of the micro-batch, any padding. Where there are no statistics that
            the loss needs, these rows are taken for the whole mini-batch.
        denom: Counts over all micro-batches of the update. Under a correction that rejects
            tokens count `kept_mask`, not the raw mask.

    Raises:
        ConfigError: An option needs an input that is None.

    >>> from coevo.trainers.estimators import count
    >>> logp_CL = torch.tensor([[-1.0, -2.0]], requires_grad=True)
    >>> mask_CL, turn_CL = torch.ones(1, 2).bool(), torch.zeros(1, 2).long()
    >>> inputs = LossInputs(logp_CL, logp_CL.detach(), torch.ones(1, 2), mask_CL, turn_CL)
    >>> out = policy_loss(LossConfig(), inputs, count(mask_CL, 2))
    >>> float(out.loss.detach()), float(out.stats["clip_fraction"])
    (-1.0, 0.0)
    """
    if config.needs_batch_statistics and not inputs.statistics:
        inputs = replace(inputs, statistics=batch_statistics(config, inputs))
    x = _readable(inputs)
    anchored = _anchored(config, x)
    log_ratio_CL = config.ratio_level(x.logp_CL, anchored.logp_old_CL, x.mask_CL, x.turn_id_CL)
    ratio_CL = log_ratio_CL.exp()
    loss_CL, unclipped_CL = config.surrogate(ratio_CL, anchored)
    for mask in config.token_masks:
        unclipped_CL = unclipped_CL & x.statistics[mask.name]
        loss_CL = torch.where(x.statistics[mask.name], loss_CL, 0.0)

    kept_CL = x.mask_CL & x.statistics.get("is_correction/keep", x.mask_CL)
    weight_CL = x.statistics.get("is_correction/weight", torch.ones_like(loss_CL))
    loss = config.aggregate(loss_CL * weight_CL, kept_CL, denom)
    stats = token_stats(x, kept_CL, ratio_CL.detach(), unclipped_CL) | {
        "loss/policy": loss.detach()
    }
    if config.is_correction is not None:
        stats |= weight_stats(weight_CL, kept_CL)

    for regulariser in config.regularise:
        term = regulariser(x)
        mean = TokenMean() if regulariser.always_token_mean else config.aggregate
        loss = loss + mean(term.loss_CL, kept_CL, denom)
        stats[regulariser.name] = used_mean(term.value_CL, kept_CL)
        stats |= term.stats
    return LossOut(loss, stats)


def control(
    config: LossConfig, state: Mapping[str, Any], stats: Mapping[str, float]
) -> dict[str, Any]:
    """Move what regularisers keep between updates, once per update.

    Args:
        config: components of the loss.
        state: As it was during the update.
        stats: Means over the update, from `merge_stats`.

    Returns:
        The state for the next update (`LossInputs.state`).

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

    >>> from coevo.trainers.estimators import TokenMis
    >>> from coevo.trainers.estimators import TokenMis
    >>> old_CL, mask_CL = torch.tensor([[0.0, 2.0]]), torch.ones(1, 2).bool()
    >>> kept_mask(LossConfig(is_correction=TokenMis()), old_CL, torch.zeros(1, 2), mask_CL)
    tensor([[ True, False]])
    """
    if config.is_correction is None:
        return mask_CL
    return mask_CL & config.is_correction(logp_old_CL, logp_behaviour_CL, mask_CL).keep_CL


def _readable(inputs: LossInputs) -> LossInputs:
    """Blank what is outside the mask and raise -inf: 0 times it would be NaN."""
    x = blank(inputs)
    names = ("logp_CL", "logp_old_CL", "logp_behaviour_CL", "logp_ref_CL")
    given = {n: t for n in names if (t := getattr(x, n)) is not None}
    changes: dict[str, Any] = {n: finite(t) for n, t in given.items()}
    return replace(x, **changes)


def _anchored(config: LossConfig, x: LossInputs) -> LossInputs:
    """Return surrogates and masks the policy that ratios refer to in the place of the old one."""
    if config.anchor == "old":
        return x
    return replace(x, logp_old_CL=x.needed("logp_behaviour_CL", "anchor behaviour"))
