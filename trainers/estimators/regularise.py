"""Regularise: terms per token that are added to the policy loss, always as a token mean."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import unknown
from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.option import Table
from coevo.trainers.estimators.surrogate import LOG_RATIO_LIMIT

KlKind = Literal["k1", "k2", "k3", "k2grad_k3value"]


class Term(NamedTuple):
    """One regulariser: what enters the loss and what enters the log."""

    loss_BL: Tensor
    """Term of every token, coefficient and sign included."""
    value_BL: Tensor
    """The measured quantity, without the coefficient."""
    stats: Mapping[str, Tensor] = MappingProxyType({})
    """Further numbers for the log and for `CONTROL`; those named `sum/` are added up."""


def kl_term(kind: KlKind, logp: Tensor, logp_ref: Tensor) -> Tensor:
    """Estimate KL(pi || ref) per sampled token, d = logp - logp_ref.

    k1 = d and k3 = exp(-d) - 1 + d have the right mean; k2 = d^2 / 2 does not. As a loss on
    on-policy samples the gradient of k1 has mean 0, that of k2 is grad KL(pi || ref), that of k3
    is grad KL(ref || pi). `k2grad_k3value` shows k3 and follows k2. d is limited to ±20.

    Raises:
        UnknownNameError: There is no such kind.

    >>> logp, logp_ref = torch.tensor([-1.0, -0.5]), torch.tensor([-1.2, -0.1])
    >>> kl_term("k3", logp, logp_ref)
    tensor([0.0187, 0.0918])
    """
    d = (logp - logp_ref.detach()).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    if kind == "k1":
        return d
    if kind == "k2":
        return d**2 / 2
    k3 = torch.expm1(-d) + d
    if kind == "k3":
        return k3
    if kind == "k2grad_k3value":
        k2 = d**2 / 2
        return k3.detach() + k2 - k2.detach()
    raise unknown("KL estimate", kind, ("k1", "k2", "k3", "k2grad_k3value"))


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


def exact_entropy(log_pi_BLV: Tensor) -> Tensor:
    """Compute the entropy per token, in nats, from a complete log-distribution.

    >>> round(float(exact_entropy(torch.tensor([0.5, 0.5]).log())), 4)
    0.6931
    """
    finite_BLV = log_pi_BLV.masked_fill(log_pi_BLV == -torch.inf, 0.0)
    return -(log_pi_BLV.exp() * finite_BLV).sum(-1)


def kl(x: LossInputs, *, coef: float = 0.001, kind: KlKind = "k2grad_k3value") -> Term:
    """KL to the reference policy as a loss: coef * `kl_term`.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0]], logp_ref_BL=torch.tensor([[-2.0]]))
    >>> kl(x, coef=0.5, kind="k1").loss_BL.tolist()
    [[0.5]]
    """
    value_BL = kl_term(kind, x.logp_BL, x.needed("logp_ref_BL", "kl"))
    return Term(coef * value_BL, value_BL)


def entropy(x: LossInputs, *, coef: float = 0.01) -> Term:
    """Entropy bonus: -coef * H.

    >>> from coevo.trainers.estimators import from_tokens
    >>> entropy(from_tokens([[-1.0]], entropy_BL=torch.ones(1, 1)), coef=0.5).loss_BL
    tensor([[-0.5000]])
    """
    value_BL = x.needed("entropy_BL", "entropy")
    return Term(-coef * value_BL, value_BL)


def magnet(x: LossInputs, *, coef: float = 0.01) -> Term:
    """Pull towards a magnet policy: coef * KL(pi || magnet), exact.

    >>> from coevo.trainers.estimators import from_tokens
    >>> magnet(from_tokens([[-1.0]], kl_magnet_BL=torch.ones(1, 1)), coef=0.5).loss_BL
    tensor([[0.5000]])
    """
    value_BL = x.needed("kl_magnet_BL", "magnet")
    return Term(coef * value_BL, value_BL)


REGULARISE: Table = {"kl": kl, "entropy": entropy, "magnet": magnet}

CONTROL: Table = {}
"""Options of REGULARISE that keep a state: `(state, stats, *, options) -> changes of the state`.

Called once per update with the merged stats; the state is read from `LossInputs.state`.
"""
