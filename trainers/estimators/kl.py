"""Divergence terms: how far the policy is from a reference, from where it was, from a magnet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.estimators.gates import INFINITY, by_covariance, marked, whole_share
from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.option import check_range
from coevo.trainers.estimators.ratio import LOG_RATIO_LIMIT, ratio_token
from coevo.trainers.estimators.term import Term

KlKind = Literal["k1", "k2", "k3", "k2grad_k3value"]


def kl_term(kind: KlKind, logp: Tensor, logp_ref: Tensor, *, limit: float = INFINITY) -> Tensor:
    """Estimate KL(pi || ref) per sampled token, d = logp - logp_ref.

    k1 = d and k3 = exp(-d) - 1 + d have the right mean; k2 = d^2 / 2 does not. As a loss on
    on-policy samples the gradient of k1 has mean 0, that of k2 is grad KL(pi || ref), that of k3
    is grad KL(ref || pi). `k2grad_k3value` shows k3 and follows k2. d is limited to ±20, the
    estimate to ±limit (verl: 10), where k3 then passes no gradient.

    Raises:
        UnknownNameError: There is no such kind.

    >>> logp, logp_ref = torch.tensor([-1.0, -0.5]), torch.tensor([-1.2, -0.1])
    >>> kl_term("k3", logp, logp_ref)
    tensor([0.0187, 0.0918])
    """
    d = (logp - logp_ref.detach()).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    k2, k3 = d**2 / 2, torch.expm1(-d) + d
    if kind == "k2grad_k3value":
        return k3.detach().clamp(max=limit) + k2 - k2.detach()
    estimates = {"k1": d, "k2": k2, "k3": k3}
    if kind not in estimates:
        raise unknown("KL estimate", kind, (*estimates, "k2grad_k3value"))
    return estimates[kind].clamp(-limit, limit)


def exact_kl(log_pi_BLV: Tensor, log_ref_BLV: Tensor) -> Tensor:
    """Compute KL(pi || ref) per token from complete log-distributions.

    A choice that pi rules out (-inf) costs nothing; one that only ref rules out costs infinity.

    >>> log_pi, log_ref = torch.tensor([0.5, 0.3, 0.2]).log(), torch.tensor([0.4, 0.4, 0.2]).log()
    >>> round(float(exact_kl(log_pi, log_ref)), 4)
    0.0253
    """
    ruled_out_BLV = log_pi_BLV == -torch.inf
    gap_BLV = log_pi_BLV.masked_fill(ruled_out_BLV, 0.0) - log_ref_BLV.masked_fill(
        ruled_out_BLV, 0.0
    )
    return (log_pi_BLV.exp() * gap_BLV).sum(-1)


def kl(
    x: LossInputs,
    *,
    coef: float = 0.001,
    kind: KlKind = "k2grad_k3value",
    importance: bool = False,
    cap: float = INFINITY,
    limit: float = INFINITY,
) -> Term:
    """KL to the reference policy as a loss: coef * `kl_term`.

    With `importance` every term is multiplied by min(sg[pi / pi_old], cap), which keeps the
    gradient that of the current policy on samples of the old one (TRL; Trinity caps at 2).
    `limit` bounds the estimate (verl: 10).

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0]], logp_ref_BL=torch.tensor([[-2.0]]))
    >>> kl(x, coef=0.5, kind="k1").loss_BL.tolist()
    [[0.5]]
    """
    value_BL = kl_term(kind, x.logp_BL, x.needed("logp_ref_BL", "kl"), limit=limit)
    return Term(coef * importance_weight(x, importance, cap) * value_BL, value_BL)


def importance_weight(x: LossInputs, on: bool, cap: float) -> Tensor:
    """Give min(sg[pi / pi_old], cap) of every token, or 1 where it is off.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[2.0]], old=[[0.0]])
    >>> importance_weight(x, True, 2.0).tolist(), importance_weight(x, False, 2.0).tolist()
    ([[2.0]], [[1.0]])
    """
    check_range("cap", cap, 0.0, INFINITY)
    if not on:
        return torch.ones_like(x.logp_BL)
    log_BL = ratio_token(x.logp_BL.detach(), x.logp_old_BL, x.mask_BL, x.turn_id_BL)
    return log_BL.exp().clamp(max=cap)


def adaptive_kl(
    x: LossInputs,
    *,
    coef: float = 0.2,
    kind: KlKind = "k2grad_k3value",
    limit: float = INFINITY,
    target: float = 6.0,
    horizon: float = 10_000.0,
) -> Term:
    """KL to the reference whose coefficient follows the KL: see `move_adaptive_kl`.

    `coef` is the coefficient of the first update. Target and horizon are those of Ziegler et al.,
    whose KL is a sum over the reply; ours is a mean over tokens, so set a target per token.

    State: `adaptive_kl/coef`.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0]], logp_ref_BL=torch.tensor([[-2.0]]))
    >>> adaptive_kl(x, coef=0.5, kind="k1").loss_BL.tolist()
    [[0.5]]
    """
    value_BL = kl_term(kind, x.logp_BL, x.needed("logp_ref_BL", "adaptive_kl"), limit=limit)
    now = float(x.state.get("adaptive_kl/coef", coef))
    rows = x.mask_BL.any(1).sum().to(value_BL.dtype)
    stats = {"adaptive_kl/coef": value_BL.new_tensor(now), "sum/adaptive_kl/rows": rows}
    return Term(now * value_BL, value_BL, stats)


def move_adaptive_kl(
    state: Mapping[str, Any],
    stats: Mapping[str, float],
    *,
    coef: float = 0.2,
    target: float = 6.0,
    horizon: float = 10_000.0,
) -> dict[str, Any]:
    """Move the coefficient: beta <- beta (1 + clip(KL / target - 1, -0.2, 0.2) n / horizon).

    n counts the rows of the update, once for every epoch.

    >>> seen = {"adaptive_kl": 0.09, "sum/adaptive_kl/rows": 256.0}
    >>> after = move_adaptive_kl({}, seen, target=0.06)
    >>> round(after["adaptive_kl/coef"], 4)
    0.201
    """
    if not (target > 0.0 and horizon > 0.0):
        raise ConfigError(f"adaptive_kl: target={target} and horizon={horizon} must be above 0")
    before = float(state.get("adaptive_kl/coef", coef))
    rows = stats.get("sum/adaptive_kl/rows", 0.0)
    error = min(max(stats.get("adaptive_kl", target) / target - 1.0, -0.2), 0.2)
    return {"adaptive_kl/coef": before * (1.0 + error * rows / horizon)}


def kl_cov(x: LossInputs, *, coef: float = 1.0, frac: float = 2e-4) -> Term:
    """Hold back the few tokens that would cost most entropy (KL-Cov): coef |logp - logp_old|.

    Only on the max(1, floor(frac n)) tokens of the mini-batch with the greatest covariance of
    advantage and log-probability, see `mark_kl_cov`. The policy loss beside it is the unclipped
    one (`ratio`). |.| has no gradient where nothing has moved, so the term is inert on the first
    step of an update. `frac` is verl's `kl_cov_ratio`; the authors' `k_percent` is 100 times it.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0, -1.0]], old=[[-1.5, -1.5]])
    >>> kl_cov(replace(x, surveyed={"kl_cov": torch.tensor([[True, False]])})).loss_BL.tolist()
    [[0.5, 0.0]]
    """
    moved_BL = ratio_token(x.logp_BL, x.logp_old_BL, x.mask_BL, x.turn_id_BL).abs()
    value_BL = torch.where(x.surveyed["kl_cov"], moved_BL, 0.0)
    return Term(coef * value_BL, value_BL)


def mark_kl_cov(x: LossInputs, generator: torch.Generator | None, *, frac: float = 2e-4) -> Tensor:
    """Mark the tokens of a mini-batch that `kl_cov` holds back.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0], [-3.0], [-1.0]], advantage=[2.0, -1.0, -1.0])
    >>> mark_kl_cov(x, None).tolist()
    [[False], [True], [False]]
    """
    check_range("frac", frac, 0.0, 1.0)
    rising_N = by_covariance(x, x.mask_BL)
    return marked(x.mask_BL, rising_N[len(rising_N) - whole_share(frac, x.mask_BL) :])


def kl_convex(
    x: LossInputs,
    *,
    coef: float = 0.001,
    kind: KlKind = "k2grad_k3value",
    limit: float = INFINITY,
    first: float = 1.0,
    least: float = 0.5,
    fall: float = 0.1,
    after: int = 50,
    every: int = 10,
) -> Term:
    """Stay near the base and near the last policy (ReMix).

    coef (lam KL(pi || ref) + (1 - lam) KL(pi || pi_old)), lam from `convex_weight` by the number
    of updates done. With fall = 0 lam is `first` for good.

    State: `kl_convex/updates`.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0]], old=[[-3.0]], logp_ref_BL=torch.tensor([[-2.0]]))
    >>> kl_convex(x, coef=1.0, kind="k1", first=0.75).loss_BL.tolist()
    [[1.25]]
    """
    step = int(x.state.get("kl_convex/updates", 0))
    lam = convex_weight(step, first=first, least=least, fall=fall, after=after, every=every)
    ref_BL = kl_term(kind, x.logp_BL, x.needed("logp_ref_BL", "kl_convex"), limit=limit)
    old_BL = kl_term(kind, x.logp_BL, x.logp_old_BL, limit=limit)
    value_BL = lam * ref_BL + (1.0 - lam) * old_BL
    return Term(coef * value_BL, value_BL, {"kl_convex/lam": value_BL.new_tensor(lam)})


def convex_weight(
    step: int,
    *,
    first: float = 1.0,
    least: float = 0.5,
    fall: float = 0.1,
    after: int = 50,
    every: int = 10,
) -> float:
    """Give lam(t) = max(first - fall ceil(max(t - after, 0) / every), least).

    >>> [round(convex_weight(t), 4) for t in (50, 51, 61, 100)]
    [1.0, 0.9, 0.8, 0.5]
    """
    check_range("first", first, 0.0, 1.0)
    check_range("least", least, 0.0, first)
    check_range("fall", fall, 0.0, INFINITY)
    check_range("every", every, 1, INFINITY)
    return max(first - fall * math.ceil(max(step - after, 0) / every), least)


def count_convex(state: Mapping[str, Any], stats: Mapping[str, float]) -> dict[str, Any]:
    """Count the updates that `kl_convex` has seen.

    >>> count_convex({"kl_convex/updates": 3}, {})
    {'kl_convex/updates': 4}
    """
    return {"kl_convex/updates": int(state.get("kl_convex/updates", 0)) + 1}


def magnet(x: LossInputs, *, coef: float = 0.01) -> Term:
    """Pull towards a magnet policy: coef * KL(pi || magnet), exact.

    >>> from coevo.trainers.estimators import from_tokens
    >>> magnet(from_tokens([[-1.0]], kl_magnet_BL=torch.ones(1, 1)), coef=0.5).loss_BL
    tensor([[0.5000]])
    """
    value_BL = x.needed("kl_magnet_BL", "magnet")
    return Term(coef * value_BL, value_BL)
