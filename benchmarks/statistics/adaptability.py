"""How agents cope with change: of the task during training, of partners, of conditions.

The axes follow the adaptability survey; the operational metrics are this project's (see the
evaluation sheet, section 15).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import Array, finite, square
from coevo.benchmarks.statistics.curves import area_under_curve
from coevo.envs.core.errors import ConfigError


def backward_transfer(scores_SS: ArrayLike) -> float:
    """What later stages did to earlier tasks: mean over j < last of A[last, j] - A[j, j].

    A[stage, task] is the score on a task after a stage; negative is forgetting.

    >>> round(backward_transfer([[0.8, 0.2], [0.6, 0.7]]), 6)
    -0.2
    """
    a = square("scores", scores_SS)
    if len(a) < 2:
        raise ConfigError("transfer needs at least two stages")
    return float((a[-1, :-1] - np.diag(a)[:-1]).mean())


class PartnerGap(NamedTuple):
    """Play with oneself against play with others."""

    self_play: float
    """Mean of the diagonal."""
    cross_play: float
    """Mean of all other pairs."""

    @property
    def gap(self) -> float:
        """What is lost with unseen partners: self-play minus cross-play."""
        return self.self_play - self.cross_play


def partner_gap(payoff_KK: ArrayLike) -> PartnerGap:
    """Compare self-play with cross-play of agents trained apart.

    >>> result = partner_gap([[1, 0.2, 0.3], [0.2, 1, 0.1], [0.3, 0.1, 1]])
    >>> [round(x, 6) for x in result], round(result.gap, 6)
    ([1.0, 0.2], 0.8)
    """
    c = square("payoffs", payoff_KK)
    if len(c) < 2:
        raise ConfigError("cross-play needs at least two agents")
    others = c[~np.eye(len(c), dtype=bool)]
    return PartnerGap(float(np.diag(c).mean()), float(others.mean()))


class Recovery(NamedTuple):
    """What a shift of the task cost."""

    before: float
    """Mean score at the evaluations before the shift."""
    time: float
    """Budget from the shift to the first evaluation back at the wanted share of it; infinite if
    that was not seen (a censored value, not a long one)."""
    area_lost: float
    """Integral over the budget after the shift of what the score stays below `before`."""
    retention: float
    """Last score / `before`."""


def recovery(
    budgets_E: ArrayLike, scores_E: ArrayLike, shift_at: float, *, wanted: float = 0.9
) -> Recovery:
    """Measure a learning curve after a shift.

    Args:
        budgets_E: where the evaluations were made, increasing.
        scores_E: normalised scores there.
        shift_at: budget at which the task changed; an evaluation exactly there counts as after.
        wanted: share of the score before that counts as recovered.

    >>> recovery([0, 1, 2, 3, 4], [1.0, 1.0, 0.2, 0.6, 1.0], shift_at=2)
    Recovery(before=1.0, time=2.0, area_lost=0.8, retention=1.0)
    """
    budgets = finite("budgets", budgets_E, ndim=1)
    scores = finite("scores", scores_E, ndim=1)
    if budgets.shape != scores.shape or (np.diff(budgets) <= 0).any():
        raise ConfigError(f"{len(scores)} scores need as many increasing budgets")
    after = budgets >= shift_at
    if after.all() or after.sum() < 2:
        raise ConfigError(f"shift_at={shift_at} needs one evaluation before it and two after")
    before = float(scores[~after].mean())
    if before <= 0:
        raise ConfigError(f"score before the shift is {before}: a share of it means nothing")
    back = np.flatnonzero(after & (scores >= wanted * before - 1e-12))
    time = float(budgets[back[0]] - shift_at) if len(back) else math.inf
    lost = np.trapezoid(np.maximum(before - scores[after], 0.0), budgets[after])
    return Recovery(before, time, float(lost), float(scores[-1]) / before)


class SeverityCurve(NamedTuple):
    """Scores along one axis of change."""

    worst: float
    """Lowest score at any severity."""
    area: float
    """Mean height of the curve."""


def severity_curve(severity_P: ArrayLike, scores_P: ArrayLike) -> SeverityCurve:
    """Summarise normalised scores over growing severity (more players, other payoffs, ...).

    >>> severity_curve([0, 1, 3], [1.0, 0.5, 0.5])
    SeverityCurve(worst=0.5, area=0.5833333333333334)
    """
    scores: Array = finite("scores", scores_P, ndim=1)
    return SeverityCurve(float(scores.min()), float(area_under_curve(severity_P, scores)))
