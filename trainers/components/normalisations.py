"""Normalisations: the unit in which an advantage is measured.

`e` is the centred credit and `e.credit` the raw one. All but `no_normalisation` give a group
without variance, and so a group of one, exactly 0; `group_std` with `single="keep"` leaves a group
of one trajectory as it is instead.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import choice, config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.components.base import Normalisation
from coevo.trainers.estimate import Estimate
from coevo.trainers.tensors import wide


@config
class NoNormalisation(Normalisation):
    """Keep the unit of the reward.

    >>> NoNormalisation()(Estimate.of([[2.0]], "row")).y.tolist()
    [2.0]
    """

    name: Literal["no_normalisation"] = "no_normalisation"

    def __call__(self, e: Estimate) -> Estimate:
        return e


@config
class GroupStd(Normalisation):
    """Divide by the deviation of the raw credit inside the group: A / (std + eps).

    A trajectory that is alone in its group has no deviation: 0, or with `single="keep"` as the
    baseline gave it (deviation 1); see `GroupMean`.

    >>> e = Estimate.of([[1.0], [0.0]], "row")
    >>> GroupStd()(e).y.round(decimals=4).tolist()
    [1.4142, 0.0]
    >>> GroupStd(single="keep")(Estimate.of([[1.0], [0.0]], "row", group=[0, 1])).y.tolist()
    [1.0, 0.0]
    """

    name: Literal["group_std"] = "group_std"
    by: str = "group"
    single: Literal["zero", "keep"] = "zero"

    def __call__(self, e: Estimate) -> Estimate:
        stats = e.credit.stats(self.by)
        scaled = e.over_std(stats)
        return scaled.keep_single(e.y, stats, self.by) if self.single == "keep" else scaled


@config
class AgentStd(Normalisation):
    """Divide by the deviation of the raw credit of the same agent key.

    >>> AgentStd()(Estimate.of([[1.0], [0.0]], "row", seat=[0, 1])).y.tolist()
    [0.0, 0.0]
    """

    name: Literal["agent_std"] = "agent_std"

    def __call__(self, e: Estimate) -> Estimate:
        return GroupStd(by="agent")(e)


@config
class BatchStd(Normalisation):
    """Divide by the deviation over the whole batch of the raw (TRL) or the centred credit (ROLL).

    >>> BatchStd()(Estimate.of([[1.0], [0.0]], "row")).y.round(decimals=4).tolist()
    [1.4142, 0.0]
    """

    name: Literal["batch_std"] = "batch_std"
    of: Literal["raw", "centred"] = "raw"

    def __call__(self, e: Estimate) -> Estimate:
        return e.over_std((e.credit if self.of == "raw" else e).stats(None))


@config
class TokenStd(Normalisation):
    """Whiten with every policy token as one observation; this centres once more as well.

    Statistics are those of the whole batch, or of a key: `by="policy"` whitens every parameter
    set's own buffer, `by="policy+role"` (with a credit per turn) what it did in each role.

    >>> e = Estimate.of([[1.0], [0.0]], "row", tokens=[[3], [1]])
    >>> TokenStd()(e).y.round(decimals=4).tolist()
    [0.5, -1.5]
    >>> e = Estimate.of([[1.0], [0.0], [9.0]], "row", policy=[0, 0, 1])
    >>> TokenStd(by="policy")(e).y.round(decimals=4).tolist()
    [0.7071, -0.7071, 0.0]
    """

    name: Literal["token_std"] = "token_std"
    by: str = ""

    def __call__(self, e: Estimate) -> Estimate:
        stats = e.stats(self.by or None, weights="token")
        return e.minus_mean(stats).over_std(stats)


@config
class BetaPdf(Normalisation):
    """Divide by the Beta density at the group's success rate: A / f(p; alpha, beta) (BNPO).

    Credits are mapped to [0, 1] by `unit_interval`, p is the mean of the group. Over groups,
    m = mean p, v = var p (ddof 1), kappa = m (1 - m) / v - 1, a = kappa m, b = kappa (1 - m);
    alpha = max(1, 1 + a / 3), beta = max(1, 1 + b / 3), which minimises the variance of the
    gradient when p ~ Beta(a, b). 1 / f is at most 1e6. With v = 0 or a single group
    alpha = beta = 1, so f = 1: plain centring. alpha = beta = 3/2 would be the deviation with
    ddof 0, times 8 / pi. Source: BNPO repository.

    Raises:
        ConfigError: A credit lies outside [low, high], where they are given.

    >>> rewards = [[1.0], [0.0], [0.0], [1.0], [0.0], [0.0], [0.0], [1.0]]
    >>> e = Estimate.of(rewards, "row", group=[0, 0, 0, 0, 1, 1, 1, 1])
    >>> BetaPdf()(e).y[3:].round(decimals=4).tolist()
    [0.6817, 0.0, 0.0, 0.0, 0.6914]
    """

    name: Literal["beta_pdf"] = "beta_pdf"
    low: Annotated[float, real()] | None = None
    high: Annotated[float, real()] | None = None
    by: str = "group"

    def __call__(self, e: Estimate) -> Estimate:
        credit = e.credit
        unit, width = unit_interval(credit, self.low, self.high, "normalise 'beta_pdf'")
        stats = credit.to(unit).stats(self.by)
        alpha, beta = beta_shape(_one_per_group(stats.mean, e, self.by))
        p, log_b = stats.mean.clamp(0.0, 1.0), math.lgamma(alpha) + math.lgamma(beta)
        log_b -= math.lgamma(alpha + beta)
        log_f = torch.xlogy(alpha - 1.0, p) + torch.xlogy(beta - 1.0, 1.0 - p) - log_b
        inverse = (-log_f).exp().clamp(max=1e6)
        return e.to(torch.where(stats.constant, 0.0, wide(e.y) / width * inverse))


AnyNormalisation = Annotated[
    NoNormalisation | GroupStd | BatchStd | TokenStd | AgentStd | BetaPdf, choice(Normalisation)
]


def beta_shape(p_K: Tensor) -> tuple[float, float]:
    """Return BNPO's alpha and beta for the success rates of K groups; (1, 1) where they are equal.

    >>> [round(shape, 4) for shape in beta_shape(torch.tensor([0.5, 0.25]))]
    [1.8125, 2.3542]
    """
    if len(p_K) < 2 or float(p_K.max() - p_K.min()) < 1e-9:  # a residue is no variance
        return 1.0, 1.0
    m, v = float(p_K.mean()), float(p_K.var(correction=1))
    kappa = m * (1.0 - m) / v - 1.0
    return max(1.0, 1.0 + kappa * m / 3.0), max(1.0, 1.0 + kappa * (1.0 - m) / 3.0)


def unit_interval(
    e: Estimate, low: float | None, high: float | None, option: str
) -> tuple[Tensor, Tensor]:
    """Map an estimate to [0, 1]; return it, 0 at padding, and how wide the range of each entry is.

    The range is [low, high] where either is given, the other then being 0 or 1; else what the
    trajectory's environment can pay, beyond which an entry counts as the end; else [0, 1].

    Raises:
        ConfigError: low is not below high, or a value lies outside of what was given.

    >>> unit_interval(Estimate.of([[1.0], [0.0]], "row"), -1.0, 1.0, "")[0].tolist()
    [1.0, 0.5]
    """
    least_B, most_B, paid = e.batch.least_B, e.batch.most_B, low is None and high is None
    low, high = 0.0 if low is None else low, 1.0 if high is None else high
    if not low < high:
        raise ConfigError(f"low={low} must be below high={high}")
    if paid and least_B is not None and most_B is not None:
        least, most = e.aligned("row", least_B), e.aligned("row", most_B)
        known = (most > least) & (most - least).isfinite()
        least, width = torch.where(known, least, 0.0), torch.where(known, most - least, 1.0)
        return torch.where(e.mask, (wide(e.y) - least) / width, 0.0).clamp(0.0, 1.0), width
    width = torch.full_like(wide(e.y), high - low)
    unit = torch.where(e.mask, (wide(e.y) - low) / width, 0.0)
    off = (unit - unit.clamp(0.0, 1.0)).abs()
    if off.numel() and float(off.max()) > 1e-6:  # rewards may be sums of floats
        worst = float(wide(e.y).reshape(-1)[off.argmax()])
        raise ConfigError(
            f"{option} compares rewards between low={low} and high={high}, one is {worst:.6g}; "
            "give the range of the reward"
        )
    return unit.clamp(0.0, 1.0), width


def _one_per_group(y: Tensor, e: Estimate, by: str) -> Tensor:
    """Take one entry of every group that has any, [K]."""
    _, index_N = e.key(by)[e.mask].unique(return_inverse=True)
    groups = int(index_N.max()) + 1 if index_N.numel() else 0
    return y.new_zeros(groups).scatter(0, index_N, y[e.mask])
