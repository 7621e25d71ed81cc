"""Compose: from the components of a reward to what is credited, before any statistics.

Every composer has the form `(parts, *, options) -> parts`. All but `decoupled` leave a single
component, `reward`, and no weights. Rewards stay at the turns that earned them; where a rule
looks at a whole trajectory it reads the outcome, the sum of a component over the turns.
Thresholds and products read what a component pays, weights scale what is credited for it.
Composers that learn from batch to batch are in `adaptive`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from coevo.envs.core.config import choice, config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.component import AdvantageComponent
from coevo.trainers.estimators.parts import Parts, checked

_NEARLY = 1e-6
"""Rewards that should be 0 or 1 may be sums of floats."""


@config
class WeightedSum(AdvantageComponent):
    """Sum the components: r_t = sum_k w_k r_tk. A weight not given is 1.

    Raises:
        UnknownNameError: A weight names a component that the batch lacks.

    >>> reward_BTK, mask_BT = torch.tensor([[[1.0, 0.5]]]), torch.ones(1, 1).bool()
    >>> parts = Parts(reward_BTK, ("payoff", "format"), {"format": 0.1}, mask_BT, {})
    >>> WeightedSum()(parts).reward_BTK.tolist()
    [[[1.05]]]
    """

    name: Literal["weighted_sum"] = "weighted_sum"

    def __call__(self, parts: Parts) -> Parts:
        parts = checked(parts)
        return parts.one((parts.reward_BTK * parts.weight_K()).sum(-1))


@config
class Decoupled(AdvantageComponent):
    """Keep the K components apart: each is normalised alone, the advantages are summed.

    A = sum_k w_k A_k, A_k = (R_k - mean_g) / (std_g + eps), then normalised over the batch by a
    modifier: GDPO (`modify=batch_whiten`); with another scale and w_k = 1 / K, BNPO's
    decomposition. The weights are left for the estimator, one for every component. Normalising
    over the batch hides their common scale, so only their ratios matter; a component that
    hardly varies is divided by its tiny deviation and becomes loud.
    Source: GDPO repository, TRL `normalize_then_sum`; BNPO repository, its defect left out
    (it sums the total as one more component).

    >>> parts = Parts(torch.zeros(1, 1, 2), ("a", "b"), {"b": 0.5}, torch.ones(1, 1).bool(), {})
    >>> Decoupled()(parts).components, Decoupled()(parts).weights
    (('a', 'b'), {'a': 1.0, 'b': 0.5})
    """

    keeps_apart = True
    name: Literal["decoupled"] = "decoupled"

    def __call__(self, parts: Parts) -> Parts:
        parts = checked(parts)
        return parts._replace(weights={n: parts.weights.get(n, 1.0) for n in parts.components})


@config
class Gated(AdvantageComponent):
    """Pay lower rewards only where the higher one is earned: R = R_h + 1[R_h >= delta] R_lower.

    `high` lists components by priority, `[a, b]`: then R_lower = R_b + 1[R_b >= delta] ... and
    every component that is not in the list is of the lowest priority. The gates read the
    outcome of the trajectory. Source: G-RA (abstract); its thresholds are not public, 0.5 is ours.

    >>> reward_BTK, mask_BT = torch.tensor([[[1.0, 0.4]], [[0.0, 0.4]]]), torch.ones(2, 1).bool()
    >>> parts = Parts(reward_BTK, ("payoff", "progress"), {}, mask_BT, {})
    >>> [round(r, 4) for r in Gated()(parts).reward_BTK.flatten().tolist()]
    [1.4, 0.0]
    """

    name: Literal["gated"] = "gated"
    high: Annotated[tuple[str, ...], Field(min_length=1)] = ("payoff",)
    delta: Annotated[float, real()] = 0.5

    def __post_init__(self) -> None:
        if len(set(self.high)) < len(self.high):
            raise ConfigError(f"high={list(self.high)} must name different components")

    def __call__(self, parts: Parts) -> Parts:
        parts, names = checked(parts), self.high
        outcome_BK, factor_BK = parts.outcome_BK(), torch.zeros_like(parts.outcome_BK())
        open_B = outcome_BK.new_ones(len(outcome_BK))
        for name in names:
            k = parts.at(name)
            factor_BK[:, k] = open_B
            open_B = torch.where(outcome_BK[:, k] >= self.delta, open_B, 0.0)
        for k in [k for k, name in enumerate(parts.components) if name not in names]:
            factor_BK[:, k] = open_B
        factor_BK *= parts.weight_K()
        return parts.one((parts.reward_BTK * factor_BK.unsqueeze(1)).sum(-1))


@config
class Tiered(AdvantageComponent):
    """Grade both successes and failures by a tier: R = C + alpha S, C in {0, 1}, S in [0, 1].

    Every failure must stay below every success, with whatever other components and weights add:
    max R(C = 0) < min R(C = 1). Source: SSL (page); its alpha is not public, 0.5 is ours.

    Raises:
        ConfigError: alpha is not in [0, 1), C or S is out of range, or a failure of the batch
            earns as much as a success.

    >>> reward_BTK, mask_BT = torch.tensor([[[1.0, 0.2]], [[0.0, 0.8]]]), torch.ones(2, 1).bool()
    >>> parts = Parts(reward_BTK, ("payoff", "progress"), {}, mask_BT, {})
    >>> [round(r, 4) for r in Tiered()(parts).reward_BTK.flatten().tolist()]
    [1.1, 0.4]
    """

    name: Literal["tiered"] = "tiered"
    outcome: str = "payoff"
    tier: str = "progress"
    alpha: Annotated[float, real(0, below=1)] = 0.5

    def __call__(self, parts: Parts) -> Parts:
        parts = checked(parts)
        c, s = parts.at(self.outcome), parts.at(self.tier)
        outcome_BK = parts.outcome_BK()
        won_B = _bit(outcome_BK[:, c], self.outcome)
        _within_one(outcome_BK[:, s], self.tier)
        factor_K = parts.weight_K()
        factor_K[s] *= self.alpha
        reward_BT = (parts.reward_BTK * factor_K).sum(-1)
        _check_order(reward_BT.sum(1), won_B, parts.mask_BT.any(1))
        return parts.one(reward_BT)


Composition = Annotated[
    WeightedSum | Decoupled | Gated | Tiered,
    choice(),
]


def _bit(outcome_B: Tensor, name: str) -> Tensor:
    """Read an outcome that must be 0 or 1."""
    won_B = outcome_B > 0.5
    off_B = (outcome_B - won_B.to(outcome_B.dtype)).abs()
    if bool((off_B > _NEARLY).any()):
        worst = float(outcome_B[off_B.argmax()])
        raise ConfigError(f"the outcome {name!r} is {worst} in a trajectory; it must be 0 or 1")
    return won_B


def _within_one(outcome_B: Tensor, name: str) -> None:
    off_B = (outcome_B - outcome_B.clamp(0.0, 1.0)).abs()
    if bool((off_B > _NEARLY).any()):
        worst = float(outcome_B[off_B.argmax()])
        raise ConfigError(f"the tier {name!r} is {worst} in a trajectory; it must be in [0, 1]")


def _check_order(reward_B: Tensor, won_B: Tensor, real_B: Tensor) -> None:
    lost_B, won_B = ~won_B & real_B, won_B & real_B
    if not bool(lost_B.any()) or not bool(won_B.any()):
        return
    best, worst = float(reward_B[lost_B].max()), float(reward_B[won_B].min())
    if best >= worst:
        raise ConfigError(
            f"a failure earns {best:.4g}, a success {worst:.4g}: lower alpha or the weights "
            "of the other components"
        )
