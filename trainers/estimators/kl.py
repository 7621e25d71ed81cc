"""Divergence terms: how far the policy is from a reference, from where it was, from a magnet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.estimators.component import Term, TermComponent
from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.ratio import LOG_RATIO_LIMIT, TokenRatio
from coevo.trainers.estimators.token_masks import INFINITY, by_covariance, marked, whole_share

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


def exact_kl(log_pi_CLV: Tensor, log_ref_CLV: Tensor) -> Tensor:
    """Compute KL(pi || ref) per token from complete log-distributions.

    A choice that pi rules out (-inf) costs nothing; one that only ref rules out costs infinity.

    >>> log_pi, log_ref = torch.tensor([0.5, 0.3, 0.2]).log(), torch.tensor([0.4, 0.4, 0.2]).log()
    >>> round(float(exact_kl(log_pi, log_ref)), 4)
    0.0253
    """
    ruled_out_CLV = log_pi_CLV == -torch.inf
    gap_CLV = log_pi_CLV.masked_fill(ruled_out_CLV, 0.0) - log_ref_CLV.masked_fill(
        ruled_out_CLV, 0.0
    )
    return (log_pi_CLV.exp() * gap_CLV).sum(-1)


@config
class Kl(TermComponent):
    """KL to the reference policy as a loss: coef * `kl_term`.

    With `importance` every term is multiplied by min(sg[pi / pi_old], cap), which keeps the
    gradient that of the current policy on samples of the old one (Trinity-RFT, cap 2; TRL
    multiplies by a ratio that passes a gradient, which this does not).
    `limit` bounds the estimate (verl: 10).

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0]], logp_ref_CL=torch.tensor([[-2.0]]))
    >>> Kl(coef=0.5, kind="k1")(x).loss_CL.tolist()
    [[0.5]]
    """

    needs_reference = True
    name: Literal["kl"] = "kl"
    coef: Annotated[float, real(0)] = 0.001
    kind: KlKind = "k2grad_k3value"
    importance: bool = False
    cap: Annotated[float, real(0, infinite=True)] = INFINITY
    limit: Annotated[float, real(0, infinite=True)] = INFINITY

    def __call__(self, x: LossInputs) -> Term:
        value_CL = kl_term(
            self.kind, x.logp_CL, x.needed("logp_ref_CL", self.name), limit=self.limit
        )
        return Term(
            self.coef * importance_weight(x, self.importance, self.cap) * value_CL, value_CL
        )


def importance_weight(x: LossInputs, on: bool, cap: float) -> Tensor:
    """Return min(sg[pi / pi_old], cap) of every token, or 1 where it is off.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[2.0]], old=[[0.0]])
    >>> importance_weight(x, True, 2.0).tolist(), importance_weight(x, False, 2.0).tolist()
    ([[2.0]], [[1.0]])
    """
    if not on:
        return torch.ones_like(x.logp_CL)
    log_CL = TokenRatio()(x.logp_CL.detach(), x.logp_old_CL, x.mask_CL, x.turn_id_CL)
    return log_CL.exp().clamp(max=cap)


@config
class KlCov(TermComponent):
    """Hold back the few tokens that would cost most entropy (KL-Cov): coef |logp - logp_old|.

    Only on the max(1, floor(frac n)) tokens of the mini-batch with the greatest covariance of
    advantage and log-probability, see `batch_statistics`. The policy loss beside it is the
    unclipped one (`ratio`). |.| has no gradient where nothing has moved, so the term is inert on
    the first step of an update. `frac` is verl's `kl_cov_ratio`; the authors' `k_percent` is 100
    times it.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0, -1.0]], old=[[-1.5, -1.5]])
    >>> KlCov()(replace(x, statistics={"kl_cov": torch.tensor([[True, False]])})).loss_CL.tolist()
    [[0.5, 0.0]]
    """

    needs_batch_statistics = True
    name: Literal["kl_cov"] = "kl_cov"
    coef: Annotated[float, real(0)] = 1.0
    frac: Annotated[float, real(0, 1)] = 2e-4

    def __call__(self, x: LossInputs) -> Term:
        moved_CL = TokenRatio()(x.logp_CL, x.logp_old_CL, x.mask_CL, x.turn_id_CL).abs()
        value_CL = torch.where(x.statistics[self.name], moved_CL, 0.0)
        return Term(self.coef * value_CL, value_CL)

    def batch_statistics(self, x: LossInputs, generator: torch.Generator | None) -> Tensor:
        """Mark the tokens of a mini-batch that `kl_cov` holds back.

        >>> from coevo.trainers.estimators import from_tokens
        >>> x = from_tokens([[-1.0], [-3.0], [-1.0]], advantage=[2.0, -1.0, -1.0])
        >>> KlCov().batch_statistics(x, None).tolist()
        [[False], [True], [False]]
        """
        rising_N = by_covariance(x, x.mask_CL)
        return marked(x.mask_CL, rising_N[len(rising_N) - whole_share(self.frac, x.mask_CL) :])


@config
class ConvexKl(TermComponent):
    """Stay near the base and near the last policy (ReMix).

    coef (lam KL(pi || ref) + (1 - lam) KL(pi || pi_old)), lam from `convex_weight` by the number
    of updates done. With fall = 0 lam is `first` for good.

    State: `convex_kl/updates`.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0]], old=[[-3.0]], logp_ref_CL=torch.tensor([[-2.0]]))
    >>> ConvexKl(coef=1.0, kind="k1", first=0.75)(x).loss_CL.tolist()
    [[1.25]]
    """

    needs_reference = True
    name: Literal["convex_kl"] = "convex_kl"
    coef: Annotated[float, real(0)] = 0.001
    kind: KlKind = "k2grad_k3value"
    limit: Annotated[float, real(0, infinite=True)] = INFINITY
    first: Annotated[float, real(0, 1)] = 1.0
    least: Annotated[float, real(0, 1)] = 0.5
    fall: Annotated[float, real(0)] = 0.1
    after: Annotated[int, whole(0)] = 50
    every: Annotated[int, whole(1)] = 10

    def __post_init__(self) -> None:
        if self.least > self.first:
            raise ConfigError(f"least={self.least} must not be above first={self.first}")

    def __call__(self, x: LossInputs) -> Term:
        step = int(x.state.get("convex_kl/updates", 0))
        lam = convex_weight(
            step,
            first=self.first,
            least=self.least,
            fall=self.fall,
            after=self.after,
            every=self.every,
        )
        ref_CL = kl_term(self.kind, x.logp_CL, x.needed("logp_ref_CL", self.name), limit=self.limit)
        old_CL = kl_term(self.kind, x.logp_CL, x.logp_old_CL, limit=self.limit)
        value_CL = lam * ref_CL + (1.0 - lam) * old_CL
        return Term(self.coef * value_CL, value_CL, {"convex_kl/lam": value_CL.new_tensor(lam)})

    def control(self, state: Mapping[str, Any], stats: Mapping[str, float]) -> dict[str, Any]:
        """Count the updates that `convex_kl` has seen.

        >>> ConvexKl().control({"convex_kl/updates": 3}, {})
        {'convex_kl/updates': 4}
        """
        return {"convex_kl/updates": int(state.get("convex_kl/updates", 0)) + 1}


def convex_weight(
    step: int,
    *,
    first: float = 1.0,
    least: float = 0.5,
    fall: float = 0.1,
    after: int = 50,
    every: int = 10,
) -> float:
    """Return lam(t) = max(first - fall ceil(max(t - after, 0) / every), least).

    >>> [round(convex_weight(t), 4) for t in (50, 51, 61, 100)]
    [1.0, 0.9, 0.8, 0.5]
    """
    return max(first - fall * math.ceil(max(step - after, 0) / every), least)


@config
class MagnetKl(TermComponent):
    """Pull towards a magnet policy: coef * KL(pi || magnet), exact.

    >>> from coevo.trainers.estimators import from_tokens
    >>> MagnetKl(coef=0.5)(from_tokens([[-1.0]], kl_magnet_CL=torch.ones(1, 1))).loss_CL
    tensor([[0.5000]])
    """

    needs_magnet = True
    always_token_mean = True
    name: Literal["magnet_kl"] = "magnet_kl"
    coef: Annotated[float, real(0)] = 0.01

    def __call__(self, x: LossInputs) -> Term:
        value_CL = x.needed("kl_magnet_CL", self.name)
        return Term(self.coef * value_CL, value_CL)
