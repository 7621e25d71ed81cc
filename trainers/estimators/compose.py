"""Compose: from the components of a reward to what is credited, before any statistics.

Every composer has the form `(parts, *, options) -> parts`. All but `decoupled` leave a single
component, `reward`, and no weights. Rewards stay at the turns that earned them; where a rule
looks at a whole trajectory it reads the outcome, the sum of a component over the turns.
Thresholds and products read what a component pays, weights scale what is credited for it.
Composers that learn from batch to batch are in `adaptive`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError
from coevo.trainers.estimators.adaptive import gradient_weights, hypervolume, lagrange
from coevo.trainers.estimators.option import Table, check_range
from coevo.trainers.estimators.parts import Parts, checked, names_in

__all__ = ["COMPOSE", "Parts", "consistency", "decoupled", "gate", "tiered", "weighted_sum"]

_NEARLY = 1e-6
"""Rewards that should be 0 or 1 may be sums of floats."""


def weighted_sum(parts: Parts) -> Parts:
    """Sum the components: r_t = sum_k w_k r_tk. A weight not given is 1.

    Raises:
        UnknownNameError: A weight names a component that the batch lacks.

    >>> reward_BTK, mask_BT = torch.tensor([[[1.0, 0.5]]]), torch.ones(1, 1).bool()
    >>> parts = Parts(reward_BTK, ("payoff", "format"), {"format": 0.1}, mask_BT, {})
    >>> weighted_sum(parts).reward_BTK.tolist()
    [[[1.05]]]
    """
    parts = checked(parts)
    return parts.one((parts.reward_BTK * parts.weight_K()).sum(-1))


def decoupled(parts: Parts) -> Parts:
    """Keep the K components apart: each is normalised alone, the advantages are summed.

    A = sum_k w_k A_k, A_k = (R_k - mean_g) / (std_g + eps), then normalised over the batch by a
    modifier: GDPO (`modify=batch_whiten`); with another scale and w_k = 1 / K, BNPO's
    decomposition. The weights are left for the estimator, one for every component. Normalising
    over the batch hides their common scale, so only their ratios matter; a component that
    hardly varies is divided by its tiny deviation and becomes loud.
    Source: GDPO repository, TRL `normalize_then_sum`; BNPO repository, its defect left out
    (it sums the total as one more component).

    >>> parts = Parts(torch.zeros(1, 1, 2), ("a", "b"), {"b": 0.5}, torch.ones(1, 1).bool(), {})
    >>> decoupled(parts).components, decoupled(parts).weights
    (('a', 'b'), {'a': 1.0, 'b': 0.5})
    """
    parts = checked(parts)
    return parts._replace(weights={n: parts.weights.get(n, 1.0) for n in parts.components})


def gate(parts: Parts, *, high: str = "payoff", delta: float = 0.5) -> Parts:
    """Pay lower rewards only where the higher one is earned: R = R_h + 1[R_h >= delta] R_lower.

    `high` is a component or a list by priority, `a > b`: then R_lower = R_b + 1[R_b >= delta] ...
    and every component that is not in the list is of the lowest priority. The gates read the
    outcome of the trajectory. Source: G-RA (abstract); its thresholds are not public, 0.5 is ours.

    >>> reward_BTK, mask_BT = torch.tensor([[[1.0, 0.4]], [[0.0, 0.4]]]), torch.ones(2, 1).bool()
    >>> parts = Parts(reward_BTK, ("payoff", "progress"), {}, mask_BT, {})
    >>> [round(r, 4) for r in gate(parts).reward_BTK.flatten().tolist()]
    [1.4, 0.0]
    """
    parts, names = checked(parts), names_in(high, "high")
    check_range("delta", delta, float("-inf"), float("inf"))
    outcome_BK, factor_BK = parts.outcome_BK(), torch.zeros_like(parts.outcome_BK())
    open_B = outcome_BK.new_ones(len(outcome_BK))
    for name in names:
        k = parts.at(name)
        factor_BK[:, k] = open_B
        open_B = torch.where(outcome_BK[:, k] >= delta, open_B, 0.0)
    for k in [k for k, name in enumerate(parts.components) if name not in names]:
        factor_BK[:, k] = open_B
    factor_BK *= parts.weight_K()
    return parts.one((parts.reward_BTK * factor_BK.unsqueeze(1)).sum(-1))


def tiered(
    parts: Parts, *, outcome: str = "payoff", tier: str = "progress", alpha: float = 0.5
) -> Parts:
    """Grade both successes and failures by a tier: R = C + alpha S, C in {0, 1}, S in [0, 1].

    Every failure must stay below every success, with whatever other components and weights add:
    max R(C = 0) < min R(C = 1). Source: SSL (page); its alpha is not public, 0.5 is ours.

    Raises:
        ConfigError: alpha is not in [0, 1), C or S is out of range, or a failure of the batch
            earns as much as a success.

    >>> reward_BTK, mask_BT = torch.tensor([[[1.0, 0.2]], [[0.0, 0.8]]]), torch.ones(2, 1).bool()
    >>> parts = Parts(reward_BTK, ("payoff", "progress"), {}, mask_BT, {})
    >>> [round(r, 4) for r in tiered(parts).reward_BTK.flatten().tolist()]
    [1.1, 0.4]
    """
    parts = checked(parts)
    if not 0.0 <= alpha < 1.0:
        raise ConfigError(f"alpha={alpha} must be in [0, 1): a failure may not earn a success")
    c, s = parts.at(outcome), parts.at(tier)
    outcome_BK = parts.outcome_BK()
    won_B = _bit(outcome_BK[:, c], outcome)
    _within_one(outcome_BK[:, s], tier)
    factor_K = parts.weight_K()
    factor_K[s] *= alpha
    reward_BT = (parts.reward_BTK * factor_K).sum(-1)
    _check_order(reward_BT.sum(1), won_B, parts.mask_BT.any(1))
    return parts.one(reward_BT)


def consistency(
    parts: Parts,
    *,
    format: str = "format",
    accuracy: str = "payoff",
    consistency: str = "consistency",
    format_factor: float = 0.5,
    bonus: float = 0.5,
) -> Parts:
    """Add a bonus for reasoning that agrees with a right answer: R = 0.5 f + a (1 + 0.5 c).

    c is the outcome of the trajectory and scales what accuracy pays, so agreeing with a wrong
    answer earns nothing. With f, a, c in {0, 1} the range is [0, 2]. Other components are added.
    Source: StableReinforce (R1-Reward) repository.

    >>> reward_BTK = torch.tensor([[[1.0, 1.0, 1.0]], [[1.0, 0.0, 1.0]]])
    >>> names, mask_BT = ("format", "payoff", "consistency"), torch.ones(2, 1).bool()
    >>> consistency(Parts(reward_BTK, names, {}, mask_BT, {})).reward_BTK.flatten().tolist()
    [2.0, 0.5]
    """
    parts = checked(parts)
    f, a, c = (parts.at(name) for name in (format, accuracy, consistency))
    if len({f, a, c}) < 3:
        raise ConfigError(
            f"format={format!r}, accuracy={accuracy!r} and consistency={consistency!r} "
            "must be three different components"
        )
    weight_K = parts.weight_K()
    agrees_B = weight_K[c] * parts.outcome_BK()[:, c]
    factor_BK = weight_K.repeat(len(agrees_B), 1)
    factor_BK[:, f] *= format_factor
    factor_BK[:, a] *= 1.0 + bonus * agrees_B
    factor_BK[:, c] = 0.0
    return parts.one((parts.reward_BTK * factor_BK.unsqueeze(1)).sum(-1))


COMPOSE: Table = {
    "sum": weighted_sum,
    "decoupled": decoupled,
    "gate": gate,
    "tiered": tiered,
    "consistency": consistency,
    "lagrange": lagrange,
    "hypervolume": hypervolume,
    "gradient_weights": gradient_weights,
}


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
