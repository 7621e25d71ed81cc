"""Entropy terms: bonuses and bands, in nats, at the sampling temperature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.option import check_range
from coevo.trainers.estimators.term import Term

INFINITY = float("inf")


def exact_entropy(log_pi_BLV: Tensor) -> Tensor:
    """Compute the entropy per token, in nats, from a complete log-distribution.

    >>> round(float(exact_entropy(torch.tensor([0.5, 0.5]).log())), 4)
    0.6931
    """
    finite_BLV = log_pi_BLV.masked_fill(log_pi_BLV == -torch.inf, 0.0)
    return -(log_pi_BLV.exp() * finite_BLV).sum(-1)


def entropy_law(log_pi_BV: Tensor, advantage_BV: Tensor, eta: float) -> Tensor:
    """Predict how one policy-gradient step changes entropy: -eta Cov_pi(log pi, pi A).

    For a softmax over free logits, z <- z + eta pi A, A centred under pi; first order in eta.

    >>> z = torch.tensor([1.0, 0.0, -1.0])
    >>> a = z - (z.softmax(-1) * z).sum()
    >>> round(entropy_law(z.log_softmax(-1), a, 0.01).item(), 6)
    -0.001198
    """
    pi_BV = log_pi_BV.exp()
    log_BV = log_pi_BV.masked_fill(log_pi_BV == -torch.inf, 0.0)
    step_BV = pi_BV * advantage_BV
    product = (pi_BV * log_BV * step_BV).sum(-1)
    return -eta * (product - (pi_BV * log_BV).sum(-1) * (pi_BV * step_BV).sum(-1))


def entropy(x: LossInputs, *, coef: float = 0.01) -> Term:
    """Entropy bonus: -coef * H.

    >>> from coevo.trainers.estimators import from_tokens
    >>> entropy(from_tokens([[-1.0]], entropy_BL=torch.ones(1, 1)), coef=0.5).loss_BL
    tensor([[-0.5000]])
    """
    value_BL = x.needed("entropy_BL", "entropy")
    return Term(-coef * value_BL, value_BL)


def nll(x: LossInputs, *, coef: float = 0.1) -> Term:
    """Imitate every sampled token: -coef logp.

    Aggregated like the policy loss: beside kind `pg` it equals a baseline lowered by coef (AsymRE).

    >>> from coevo.trainers.estimators import from_tokens
    >>> nll(from_tokens([[-2.0]]), coef=0.5).loss_BL.tolist()
    [[1.0]]
    """
    return Term(-coef * x.logp_BL, -x.logp_BL)


def entropy_band(
    x: LossInputs, *, coef: float = 0.01, low: float = 0.0, high: float = INFINITY
) -> Term:
    """Hold entropy between two fixed bounds: coef (relu(low - H) + relu(H - high)).

    Inside the band there is neither bonus nor penalty. `epo` has bounds that follow the past.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0] * 3], entropy_BL=torch.tensor([[0.25, 1.0, 3.0]]))
    >>> entropy_band(x, coef=1.0, low=0.5, high=2.0).loss_BL.tolist()
    [[0.25, 0.0, 1.0]]
    """
    check_range("low", low, 0.0, high)
    entropy_BL = x.needed("entropy_BL", "entropy_band")
    value_BL = torch.relu(low - entropy_BL) + torch.relu(entropy_BL - high)
    return Term(coef * value_BL, value_BL)


def adaptive_entropy(
    x: LossInputs,
    *,
    coef: float = 0.0,
    target: float = 0.2,
    step: float = 0.005,
    most: float = 1.0,
) -> Term:
    """Entropy bonus that is on while entropy is low (Skywork-OR1): -c H while H <= target.

    `coef` is c of the first update; `move_adaptive_entropy` raises it after every update that
    ended at or below the target and lowers it otherwise. Whether it applies is decided by the
    update before, since no micro-batch knows the entropy of all of them; the first has no bonus.
    Source: Skywork-OR1, as in TRL, which decides by the current batch.

    State: `adaptive_entropy/coef`, `adaptive_entropy/on`.

    >>> from coevo.trainers.estimators import from_tokens
    >>> from dataclasses import replace
    >>> x = from_tokens([[-1.0]], entropy_BL=torch.ones(1, 1))
    >>> low = replace(x, state={"adaptive_entropy/coef": 0.5, "adaptive_entropy/on": True})
    >>> adaptive_entropy(x).loss_BL.item(), adaptive_entropy(low).loss_BL.item()
    (-0.0, -0.5)
    """
    value_BL = x.needed("entropy_BL", "adaptive_entropy")
    known = float(x.state.get("adaptive_entropy/coef", coef))
    now = known if x.state.get("adaptive_entropy/on", False) else 0.0
    return Term(-now * value_BL, value_BL, {"adaptive_entropy/coef": value_BL.new_tensor(now)})


def move_adaptive_entropy(
    state: Mapping[str, Any],
    stats: Mapping[str, float],
    *,
    coef: float = 0.0,
    target: float = 0.2,
    step: float = 0.005,
    most: float = 1.0,
) -> dict[str, Any]:
    """Move the coefficient: c <- clip(c + step if H <= target else c - step, 0, most).

    >>> move_adaptive_entropy({}, {"adaptive_entropy": 0.1})
    {'adaptive_entropy/coef': 0.005, 'adaptive_entropy/on': True}
    """
    check_range("step", step, 0.0, INFINITY)
    check_range("most", most, 0.0, INFINITY)
    before = float(state.get("adaptive_entropy/coef", coef))
    if "adaptive_entropy" not in stats:
        return {}
    low = stats["adaptive_entropy"] <= target
    after = min(max(before + (step if low else -step), 0.0), most)
    return {"adaptive_entropy/coef": after, "adaptive_entropy/on": low}
