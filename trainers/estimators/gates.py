"""Gates: which tokens of a mini-batch teach, decided from all its rows without gradient."""

from __future__ import annotations

import torch
from torch import Tensor

from coevo.trainers.estimators.inputs import LossInputs
from coevo.trainers.estimators.option import check_range
from coevo.trainers.estimators.ratio import ratio_token
from coevo.trainers.estimators.surrogate_clip import ppo_clip

INFINITY = float("inf")


def covariance(x: LossInputs) -> Tensor:
    """Compute (A - mean A)(logp - mean logp) of every token, means over the mask; 0 outside.

    Its mean is what first-order theory says entropy falls by (Entropy Mechanism).

    >>> from coevo.trainers.estimators import from_tokens
    >>> covariance(from_tokens([[-1.0], [-3.0]], advantage=[1.0, -1.0])).tolist()
    [[1.0], [1.0]]
    """
    used = x.mask_BL.sum().clamp(min=1)
    a_BL, logp_BL = x.advantage_BL.to(x.logp_BL.dtype), x.logp_BL.detach()
    mean_a = torch.where(x.mask_BL, a_BL, 0.0).sum() / used
    mean_logp = torch.where(x.mask_BL, logp_BL, 0.0).sum() / used
    return torch.where(x.mask_BL, (a_BL - mean_a) * (logp_BL - mean_logp), 0.0)


def by_covariance(x: LossInputs, open_BL: Tensor) -> Tensor:
    """List the places of open tokens, [N] into the flat table, by rising covariance.

    Ties go by log-probability: neither the order of rows nor padding decides.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[-1.0], [-3.0], [-1.0]], advantage=[2.0, -1.0, -1.0])
    >>> by_covariance(x, x.mask_BL).tolist()
    [2, 0, 1]
    """
    at_N = open_BL.flatten().nonzero().squeeze(1)
    for key_BL in (x.logp_BL.detach(), covariance(x)):
        at_N = at_N[key_BL.flatten()[at_N].argsort(stable=True)]
    return at_N


def marked(mask_BL: Tensor, at_N: Tensor) -> Tensor:
    """Give a table that is True at these places of the flat one.

    >>> marked(torch.ones(2, 2).bool(), torch.tensor([3])).tolist()
    [[False, False], [False, True]]
    """
    flat_N = torch.zeros_like(mask_BL.flatten())
    flat_N[at_N] = True
    return flat_N.view_as(mask_BL)


def clip_cov(
    x: LossInputs,
    generator: torch.Generator | None,
    *,
    ratio: float = 2e-4,
    lb: float = 1.0,
    ub: float = 5.0,
    eps_lo: float = 1.0,
    eps_hi: float = 1.0,
) -> Tensor:
    """Silence some tokens at random that would cost most entropy (Clip-Cov).

    Among tokens with lb < cov < ub that `ppo_clip` with these bounds has not clipped already,
    max(1, floor(ratio n)) of the n tokens of the mini-batch do not teach. The authors set the
    clip of the loss itself to 1/1. lb and ub suppose advantages of unit variance: with centred
    rewards in [0, 1] hardly any token qualifies. Source: code of Entropy Mechanism and verl.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[0.0], [-4.0], [-2.0]], advantage=[1.0, -1.0, 0.0])
    >>> clip_cov(x, torch.Generator().manual_seed(0), ratio=0.7).tolist()
    [[False], [False], [True]]
    """
    check_range("ratio", ratio, 0.0, 1.0)
    check_range("lb", lb, -INFINITY, ub)
    s_BL = ratio_token(x.logp_BL, x.logp_old_BL, x.mask_BL, x.turn_id_BL).exp()
    free_BL = ppo_clip(s_BL, x, eps_lo=eps_lo, eps_hi=eps_hi).gate_BL
    cov_BL = covariance(x)
    at_N = by_covariance(x, x.mask_BL & free_BL & (cov_BL > lb) & (cov_BL < ub))
    device = "cpu" if generator is None else generator.device
    order_N = torch.randperm(len(at_N), generator=generator, device=device).to(at_N.device)
    return ~marked(x.mask_BL, at_N[order_N[: whole_share(ratio, x.mask_BL)]])


def entropy_quantile(
    x: LossInputs, generator: torch.Generator | None, *, keep: float = 0.2
) -> Tensor:
    """Teach only where the policy hesitates: the top `keep` of all tokens by entropy.

    A token teaches if H >= the (1 - keep) quantile over the mask, interpolated linearly. Source:
    "Beyond the 80/20 rule", as in TRL.

    >>> from coevo.trainers.estimators import from_tokens
    >>> x = from_tokens([[0.0] * 4], entropy_BL=torch.tensor([[0.1, 0.4, 0.2, 0.3]]))
    >>> entropy_quantile(x, None, keep=0.5).tolist()
    [[False, True, False, True]]
    """
    check_range("keep", keep, 0.0, 1.0)
    entropy_BL = x.needed("entropy_BL", "entropy_quantile").detach()
    return x.mask_BL & (entropy_BL >= quantile(entropy_BL[x.mask_BL], 1.0 - keep))


def offpolicy(x: LossInputs, generator: torch.Generator | None, *, delta: float = 0.5) -> Tensor:
    """Silence bad rows that have gone far from the policy: keep if A >= 0 or drift <= delta.

    drift = mean_t(logp_roll - logp) over the tokens of the row. Source: DeepSeek-V3.2's sequence
    mask, as in TRL.

    >>> from coevo.trainers.estimators import from_tokens
    >>> roll_BL = torch.zeros(3, 1)
    >>> x = from_tokens([[-1.0], [-1.0], [-0.1]], [1.0, -1.0, -1.0], logp_roll_BL=roll_BL)
    >>> offpolicy(x, None).tolist()
    [[True], [False], [True]]
    """
    gap_BL = x.needed("logp_roll_BL", "offpolicy") - x.logp_BL.detach()
    length_B1 = x.mask_BL.sum(1, keepdim=True).clamp(min=1)
    drift_B1 = torch.where(x.mask_BL, gap_BL, 0.0).sum(1, keepdim=True) / length_B1
    return (x.advantage_BL >= 0) | (drift_B1 <= delta)


def quantile(value_N: Tensor, share: float, *, nearest: bool = False) -> Tensor:
    """Give the quantile of some values, between the two nearest or the nearest of them; 0 of none.

    >>> quantile(torch.tensor([3.0, 1.0, 2.0]), 0.75).item()
    2.5
    """
    if not len(value_N):
        return value_N.new_zeros(())
    sorted_N, place = value_N.sort().values, share * (len(value_N) - 1)
    if nearest:
        return sorted_N[round(place)]
    low = int(place)
    return torch.lerp(sorted_N[low], sorted_N[min(low + 1, len(value_N) - 1)], place - low)


def whole_share(share: float, mask_BL: Tensor) -> int:
    """Give max(1, floor(share n)) for a mask of n tokens; 0 for an empty one.

    >>> whole_share(0.4, torch.ones(1, 6).bool()), whole_share(2e-4, torch.ones(1, 6).bool())
    (2, 1)
    """
    tokens = int(mask_BL.sum())
    return min(tokens, max(1, int(share * tokens)))
