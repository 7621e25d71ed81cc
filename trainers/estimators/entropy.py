"""Entropy terms: bonuses and bands, in nats, at the sampling temperature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.trainers.estimators.component import Term, TermComponent
from coevo.trainers.estimators.inputs import LossInputs

INFINITY = float("inf")


def exact_entropy(log_pi_CLV: Tensor) -> Tensor:
    """Compute the entropy per token, in nats, from a complete log-distribution.

    >>> round(float(exact_entropy(torch.tensor([0.5, 0.5]).log())), 4)
    0.6931
    """
    finite_CLV = log_pi_CLV.clamp(min=torch.finfo(log_pi_CLV.dtype).min)  # of -inf, times 0
    return -(log_pi_CLV.exp() * finite_CLV).sum(-1)


@config
class Entropy(TermComponent):
    """Entropy bonus: -coef * H.

    >>> from coevo.trainers.estimators import from_tokens
    >>> Entropy(coef=0.5)(from_tokens([[-1.0]], entropy_CL=torch.ones(1, 1))).loss_CL
    tensor([[-0.5000]])
    """

    always_token_mean = True
    name: Literal["entropy"] = "entropy"
    coef: Annotated[float, real()] = 0.01

    def __call__(self, x: LossInputs) -> Term:
        value_CL = x.needed("entropy_CL", self.name)
        return Term(-self.coef * value_CL, value_CL)


@config
class Nll(TermComponent):
    """Imitate every sampled token: -coef logp.

    Aggregated like the policy loss: beside kind `pg` it equals a baseline lowered by coef (AsymRE).

    >>> from coevo.trainers.estimators import from_tokens
    >>> Nll(coef=0.5)(from_tokens([[-2.0]])).loss_CL.tolist()
    [[1.0]]
    """

    name: Literal["nll"] = "nll"
    coef: Annotated[float, real()] = 0.1

    def __call__(self, x: LossInputs) -> Term:
        return Term(-self.coef * x.logp_CL, -x.logp_CL)


@config
class AdaptiveEntropy(TermComponent):
    """Entropy bonus that is on while entropy is low (Skywork-OR1): -c H while H <= target.

    `coef` is c of the first update; `control` raises it after every update that
    ended at or below the target and lowers it otherwise. Whether it applies is decided by the
    update before, since no micro-batch knows the entropy of all of them; the first has no bonus.
    Source: Skywork-OR1, as in TRL, which decides by the current batch.

    State: `adaptive_entropy/coef`, `adaptive_entropy/on`.

    >>> from coevo.trainers.estimators import from_tokens
    >>> from dataclasses import replace
    >>> x = from_tokens([[-1.0]], entropy_CL=torch.ones(1, 1))
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

    def __call__(self, x: LossInputs) -> Term:
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
