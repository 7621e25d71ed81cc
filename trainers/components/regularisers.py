"""Regularisers: terms per token that are added to the policy loss.

Divergences say how far the policy is from a reference, from where it was, from a magnet. Entropy
is in nats, at the sampling temperature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.batch import Batch
from coevo.trainers.components.base import INFINITY, Regulariser, Term, check_range
from coevo.trainers.components.masks import by_covariance, marked, whole_share
from coevo.trainers.components.ratios import LOG_RATIO_LIMIT, TokenRatio
from coevo.trainers.tensors import sum_turns

KlKind = Literal["k1", "k2", "k3", "k2grad_k3value"]
EpoMode = Literal["reported", "hinge", "mask"]


# ---- Divergence ------------------------------------------------------------------------------


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
class Kl(Regulariser):
    """KL to the reference policy as a loss: coef * `kl_term`.

    With `importance` every term is multiplied by min(sg[pi / pi_old], cap), which keeps the
    gradient that of the current policy on samples of the old one (Trinity-RFT, cap 2; TRL
    multiplies by a ratio that passes a gradient, which this does not).
    `limit` bounds the estimate (verl: 10).

    >>> x = Batch.from_tokens([[-1.0]], logp_ref_CL=torch.tensor([[-2.0]]))
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

    def __call__(self, x: Batch) -> Term:
        value_CL = kl_term(
            self.kind, x.logp_CL, x.needed("logp_ref_CL", self.name), limit=self.limit
        )
        return Term(
            self.coef * importance_weight(x, self.importance, self.cap) * value_CL, value_CL
        )


def importance_weight(x: Batch, on: bool, cap: float) -> Tensor:
    """Return min(sg[pi / pi_old], cap) of every token, or 1 where it is off.

    >>> x = Batch.from_tokens([[2.0]], old=[[0.0]])
    >>> importance_weight(x, True, 2.0).tolist(), importance_weight(x, False, 2.0).tolist()
    ([[2.0]], [[1.0]])
    """
    if not on:
        return torch.ones_like(x.logp_CL)
    log_CL = TokenRatio()(x.logp_CL.detach(), x.logp_old_CL, x.mask_CL, x.turn_CL)
    return log_CL.exp().clamp(max=cap)


@config
class KlCov(Regulariser):
    """Hold back the few tokens that would cost most entropy (KL-Cov): coef |logp - logp_old|.

    Only on the max(1, floor(frac n)) tokens of the mini-batch with the greatest covariance of
    advantage and log-probability, see `batch_statistics`. The policy loss beside it is the
    unclipped one (`ratio`). |.| has no gradient where nothing has moved, so the term is inert on
    the first step of an update. `frac` is verl's `kl_cov_ratio`; the authors' `k_percent` is 100
    times it.

    >>> from dataclasses import replace
    >>> x = Batch.from_tokens([[-1.0, -1.0]], old=[[-1.5, -1.5]])
    >>> KlCov()(replace(x, statistics={"kl_cov": torch.tensor([[True, False]])})).loss_CL.tolist()
    [[0.5, 0.0]]
    """

    needs_batch_statistics = True
    name: Literal["kl_cov"] = "kl_cov"
    coef: Annotated[float, real(0)] = 1.0
    frac: Annotated[float, real(0, 1)] = 2e-4

    def __call__(self, x: Batch) -> Term:
        moved_CL = TokenRatio()(x.logp_CL, x.logp_old_CL, x.mask_CL, x.turn_CL).abs()
        value_CL = torch.where(x.statistics[self.name], moved_CL, 0.0)
        return Term(self.coef * value_CL, value_CL)

    def batch_statistics(self, x: Batch, generator: torch.Generator | None) -> Tensor:
        rising_N = by_covariance(x, x.mask_CL)
        return marked(x.mask_CL, rising_N[len(rising_N) - whole_share(self.frac, x.mask_CL) :])


@config
class ConvexKl(Regulariser):
    """Stay near the base and near the last policy (ReMix).

    coef (lam KL(pi || ref) + (1 - lam) KL(pi || pi_old)), lam from `convex_weight` by the number
    of updates done. With fall = 0 lam is `first` for good.

    State: `convex_kl/updates`.

    >>> x = Batch.from_tokens([[-1.0]], old=[[-3.0]], logp_ref_CL=torch.tensor([[-2.0]]))
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

    def __call__(self, x: Batch) -> Term:
        step = int(x.state.get("convex_kl/updates", 0))
        lam = convex_weight(step, self.first, self.least, self.fall, self.after, self.every)
        ref_CL = kl_term(self.kind, x.logp_CL, x.needed("logp_ref_CL", self.name), limit=self.limit)
        old_CL = kl_term(self.kind, x.logp_CL, x.logp_old_CL, limit=self.limit)
        value_CL = lam * ref_CL + (1.0 - lam) * old_CL
        return Term(self.coef * value_CL, value_CL, {"convex_kl/lam": value_CL.new_tensor(lam)})

    def control(self, state: Mapping[str, Any], stats: Mapping[str, float]) -> dict[str, Any]:
        return {"convex_kl/updates": int(state.get("convex_kl/updates", 0)) + 1}


def convex_weight(
    step: int,
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
class MagnetKl(Regulariser):
    """Pull towards a magnet policy: coef * KL(pi || magnet), exact.

    >>> MagnetKl(coef=0.5)(Batch.from_tokens([[-1.0]], kl_magnet_CL=torch.ones(1, 1))).loss_CL
    tensor([[0.5000]])
    """

    compares = "magnet"
    always_token_mean = True
    name: Literal["magnet_kl"] = "magnet_kl"
    coef: Annotated[float, real(0)] = 0.01

    def __call__(self, x: Batch) -> Term:
        value_CL = x.needed("kl_magnet_CL", self.name)
        return Term(self.coef * value_CL, value_CL)

    def divergence(self, log_pi_NV: Tensor, log_target_NV: Tensor) -> Tensor:
        return exact_kl(log_pi_NV, log_target_NV)


@config
class ReferenceKl(Regulariser):
    """Pull towards the reference: coef * KL(pi || ref) over the whole vocabulary at each token.

    On replies of the policy itself this is on-policy distillation: its slope is the mean of what
    `kl_in_reward` estimates from the sampled token alone. With `top_k` the ids that are likeliest
    to the policy are told apart and all others count as one, see `top_k_kl`.
    Source: Agarwal et al. 2024, GKD, arXiv 2306.13649 (reverse KL, lambda = 1).

    >>> x = Batch.from_tokens([[-1.0]], kl_reference_CL=torch.ones(1, 1))
    >>> ReferenceKl(coef=0.5)(x).loss_CL
    tensor([[0.5000]])
    """

    needs_reference = True
    compares = "reference"
    always_token_mean = True
    name: Literal["reference_kl"] = "reference_kl"
    coef: Annotated[float, real(0)] = 1.0
    top_k: Annotated[int, whole(0)] = 0
    """Ids that are told apart; 0 takes all."""

    def __call__(self, x: Batch) -> Term:
        value_CL = x.needed("kl_reference_CL", self.name)
        return Term(self.coef * value_CL, value_CL)

    def divergence(self, log_pi_NV: Tensor, log_target_NV: Tensor) -> Tensor:
        return top_k_kl(log_pi_NV, log_target_NV, self.top_k or log_pi_NV.shape[-1])


def top_k_kl(log_pi_CLV: Tensor, log_ref_CLV: Tensor, k: int) -> Tensor:
    """Compute KL(pi || ref) with the k likeliest ids of pi told apart and all others as one.

    By the log-sum inequality it is never above `exact_kl`, which it is from k = V - 1 on.

    >>> log_pi, log_ref = torch.tensor([0.5, 0.3, 0.2]).log(), torch.tensor([0.4, 0.4, 0.2]).log()
    >>> [round(float(top_k_kl(log_pi, log_ref, k)), 4) for k in (1, 2)]
    [0.0204, 0.0253]
    """
    if k >= log_pi_CLV.shape[-1] - 1:
        return exact_kl(log_pi_CLV, log_ref_CLV)
    top_CLK = log_pi_CLV.detach().topk(k, -1).indices

    def joined(logp_CLV: Tensor) -> Tensor:
        closed = torch.finfo(logp_CLV.dtype).min
        others_CL1 = logp_CLV.scatter(-1, top_CLK, closed).logsumexp(-1, keepdim=True)
        return torch.cat([logp_CLV.gather(-1, top_CLK), others_CL1], -1)

    return exact_kl(joined(log_pi_CLV), joined(log_ref_CLV))


# ---- Entropy ---------------------------------------------------------------------------------


def exact_entropy(log_pi_CLV: Tensor) -> Tensor:
    """Compute the entropy per token, in nats, from a complete log-distribution.

    >>> round(float(exact_entropy(torch.tensor([0.5, 0.5]).log())), 4)
    0.6931
    """
    finite_CLV = log_pi_CLV.clamp(min=torch.finfo(log_pi_CLV.dtype).min)  # of -inf, times 0
    return -(log_pi_CLV.exp() * finite_CLV).sum(-1)


@config
class Entropy(Regulariser):
    """Entropy bonus: -coef * H.

    >>> Entropy(coef=0.5)(Batch.from_tokens([[-1.0]], entropy_CL=torch.ones(1, 1))).loss_CL
    tensor([[-0.5000]])
    """

    always_token_mean = True
    name: Literal["entropy"] = "entropy"
    coef: Annotated[float, real()] = 0.01

    def __call__(self, x: Batch) -> Term:
        value_CL = x.needed("entropy_CL", self.name)
        return Term(-self.coef * value_CL, value_CL)


@config
class Nll(Regulariser):
    """Imitate every sampled token: -coef logp.

    Aggregated like the policy loss: beside `policy_gradient` it equals a baseline lowered by coef
    (AsymRE).

    >>> Nll(coef=0.5)(Batch.from_tokens([[-2.0]])).loss_CL.tolist()
    [[1.0]]
    """

    name: Literal["nll"] = "nll"
    coef: Annotated[float, real()] = 0.1

    def __call__(self, x: Batch) -> Term:
        return Term(-self.coef * x.logp_CL, -x.logp_CL)


@config
class AdaptiveEntropy(Regulariser):
    """Entropy bonus that is on while entropy is low (Skywork-OR1): -c H while H <= target.

    `coef` is c of the first update; `control` raises it after every update that
    ended at or below the target and lowers it otherwise. Whether it applies is decided by the
    update before, since no micro-batch knows the entropy of all of them; the first has no bonus.
    Source: Skywork-OR1, as in TRL, which decides by the current batch.

    State: `adaptive_entropy/coef`, `adaptive_entropy/on`.

    >>> from dataclasses import replace
    >>> x = Batch.from_tokens([[-1.0]], entropy_CL=torch.ones(1, 1))
    >>> low = replace(x, state={"adaptive_entropy/coef": 0.5, "adaptive_entropy/on": True})
    >>> AdaptiveEntropy()(x).loss_CL.item(), AdaptiveEntropy()(low).loss_CL.item()
    (-0.0, -0.5)
    """

    always_token_mean = True
    name: Literal["adaptive_entropy"] = "adaptive_entropy"
    coef: Annotated[float, real(0)] = 0.0
    target: Annotated[float, real()] = 0.2
    step: Annotated[float, real(0)] = 0.005
    most: Annotated[float, real(0)] = 1.0

    def __call__(self, x: Batch) -> Term:
        value_CL = x.needed("entropy_CL", self.name)
        known = float(x.state.get("adaptive_entropy/coef", self.coef))
        now = known if x.state.get("adaptive_entropy/on", False) else 0.0
        return Term(-now * value_CL, value_CL, {"adaptive_entropy/coef": value_CL.new_tensor(now)})

    def control(self, state: Mapping[str, Any], stats: Mapping[str, float]) -> dict[str, Any]:
        """Move the coefficient: c <- clip(c + step if H <= target else c - step, 0, most).

        >>> AdaptiveEntropy().control({}, {"adaptive_entropy": 0.1})
        {'adaptive_entropy/coef': 0.005, 'adaptive_entropy/on': True}
        """
        before = float(state.get("adaptive_entropy/coef", self.coef))
        if "adaptive_entropy" not in stats:
            return {}
        low = stats["adaptive_entropy"] <= self.target
        after = min(max(before + (self.step if low else -self.step), 0.0), self.most)
        return {"adaptive_entropy/coef": after, "adaptive_entropy/on": low}


@config
class Epo(Regulariser):
    """Entropy bonus with a corridor for every turn: -coef (H - lam w penalty).

    The corridor of turn k is kappa_l Hbar_k < H < kappa_r Hbar_k, Hbar_k the mean over past
    updates of the mean entropy at turn k; a turn without a past has none. Outside of it
    `reported` takes alpha, as the released code does: a constant without gradient, so that only
    the bonus acts. `hinge` takes alpha times the distance, which does push back. `mask` takes no
    penalty, but the bonus counts alpha times there.
    `from_turn`: the corridor holds for rows that get that far (the code: micro-batches with such a
    turn, half of the limit of turns; rows do not depend on how they are cut). `phases`: w is
    `phase_weight` of the number of updates done, else 1.

    State: `epo/mean` and `epo/seen`, lists by turn; `epo/updates`.

    >>> from dataclasses import replace
    >>> x = Batch.from_tokens([[-1.0, -1.0]], entropy_CL=torch.tensor([[1.0, 3.0]]))
    >>> x = replace(x, state={"epo/mean": [1.0], "epo/seen": [1]})
    >>> [Epo(coef=1.0, mode=m)(x).loss_CL[0, 1].item() for m in ("reported", "hinge", "mask")]
    [-2.9000000953674316, -2.9000000953674316, -0.30000001192092896]
    """

    always_token_mean = True
    name: Literal["epo"] = "epo"
    coef: Annotated[float, real()] = 0.001
    mode: EpoMode = "hinge"
    kappa_l: Annotated[float, real(0)] = 0.0
    kappa_r: Annotated[float, real(0)] = 2.0
    alpha: Annotated[float, real(0)] = 0.1
    lam: Annotated[float, real()] = 1.0
    from_turn: Annotated[int, whole(0)] = 0
    phases: bool = False
    middle: Annotated[int, whole(1)] = 75
    last: Annotated[int, whole(1)] = 150

    def __post_init__(self) -> None:
        check_range("kappa_l", self.kappa_l, 0.0, self.kappa_r)
        check_range("middle", self.middle, 1, self.last - 1)

    def __call__(self, x: Batch) -> Term:
        value_CL = x.needed("entropy_CL", self.name)
        mean_CL, on_CL = _corridor(x, self.from_turn)
        gap_CL = corridor_gap(value_CL, self.kappa_l * mean_CL, self.kappa_r * mean_CL, self.mode)
        updates = int(x.state.get("epo/updates", 0))
        weight = phase_weight(updates, self.middle, self.last) if self.phases else 1.0
        if self.mode == "mask":
            worth_CL = torch.where(on_CL & (gap_CL > 0), self.alpha, 1.0).to(value_CL.dtype)
            return Term(-self.coef * worth_CL * value_CL, value_CL, _turn_stats(x, value_CL))
        penalty_CL = torch.where(on_CL, self.alpha * gap_CL, 0.0)
        loss_CL = -self.coef * (value_CL - self.lam * weight * penalty_CL)
        return Term(loss_CL, value_CL, _turn_stats(x, value_CL))

    def control(self, state: Mapping[str, Any], stats: Mapping[str, float]) -> dict[str, Any]:
        """Add the mean entropy of every turn of this update to the running means."""
        prefix = "sum/epo/tokens/"
        turns = {int(n.removeprefix(prefix)): v for n, v in stats.items() if n.startswith(prefix)}
        mean, seen = list(state.get("epo/mean", [])), list(state.get("epo/seen", []))
        missing = max(turns, default=-1) + 1 - len(mean)
        mean, seen = mean + [0.0] * missing, seen + [0] * missing
        for turn, tokens in turns.items():
            if tokens > 0:
                now = stats[f"sum/epo/entropy/{turn}"] / tokens
                seen[turn] += 1
                mean[turn] += (now - mean[turn]) / seen[turn]
        return {
            "epo/mean": mean,
            "epo/seen": seen,
            "epo/updates": int(state.get("epo/updates", 0)) + 1,
        }


def corridor_gap(entropy: Tensor, low: Tensor, high: Tensor, mode: EpoMode) -> Tensor:
    """Measure how far entropy is outside (low, high): 0 or 1, or for `hinge` the distance.

    >>> h, low, high = torch.tensor([0.5, 1.0, 3.0]), torch.tensor(0.75), torch.tensor(2.0)
    >>> [corridor_gap(h, low, high, m).tolist() for m in ("reported", "hinge")]
    [[1.0, 0.0, 1.0], [0.25, 0.0, 1.0]]
    """
    if mode == "hinge":
        return torch.relu(low - entropy) + torch.relu(entropy - high)
    return (~((low < entropy) & (entropy < high))).to(entropy.dtype)


AnyRegulariser = Annotated[
    Kl | ConvexKl | KlCov | MagnetKl | ReferenceKl | Entropy | AdaptiveEntropy | Epo | Nll,
    choice(Regulariser),
]


def phase_weight(update: int, middle: int = 75, last: int = 150) -> float:
    """Return the weight of the penalty: first nearly constant, then fading.

    1 - 0.2 (1 - exp(-2 e / middle)) up to `middle`, then 0.8 exp(-3 (e - middle) / (last -
    middle)). The two do not meet: 0.8271 is followed by 0.7686. Source: released code.

    >>> [round(phase_weight(e), 4) for e in (0, 75, 76, 150)]
    [1.0, 0.8271, 0.7686, 0.0398]
    """
    if update <= middle:
        return 1.0 - 0.2 * (1.0 - math.exp(-2.0 * update / middle))
    return 0.8 * math.exp(-3.0 * (update - middle) / (last - middle))


def _corridor(x: Batch, from_turn: int) -> tuple[Tensor, Tensor]:
    """Look up Hbar of every token's turn, and whether there is a corridor at it."""
    mean, seen = list(x.state.get("epo/mean", [])), list(x.state.get("epo/seen", []))
    turn_CL = torch.where(x.mask_CL, x.turn_CL, -1)
    known_CL = (turn_CL >= 0) & (turn_CL < len(mean))
    at_CL = torch.where(known_CL, turn_CL, 0)
    mean_CL = x.logp_CL.new_tensor(mean or [0.0])[at_CL]
    past_CL = torch.tensor(seen or [0], device=at_CL.device)[at_CL] > 0
    far_C1 = (turn_CL >= from_turn).any(1, keepdim=True)
    return mean_CL, known_CL & past_CL & far_C1


@torch.no_grad()
def _turn_stats(x: Batch, entropy_CL: Tensor) -> dict[str, Tensor]:
    turn_CL = torch.where(x.mask_CL, x.turn_CL, -1)
    turns = int(turn_CL.max()) + 1 if turn_CL.numel() else 0
    total_T = sum_turns(entropy_CL.detach(), turn_CL, turns).sum(0)
    tokens_T = sum_turns(torch.ones_like(entropy_CL), turn_CL, turns).sum(0)
    named = {"entropy": total_T, "tokens": tokens_T}
    return {f"sum/epo/{n}/{k}": v for n, t in named.items() for k, v in enumerate(t.unbind())}
