"""Robustness of agents to change: of partners, and of conditions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import finite, square
from coevo.benchmarks.statistics.curves import area_under_curve
from coevo.envs.core.errors import ConfigError


class PartnerGap(NamedTuple):
    """Play with oneself against play with others."""

    self_play: float
    """Mean of the diagonal."""
    cross_play: float
    """Mean of all other pairs."""


def partner_gap(payoff_KK: ArrayLike) -> PartnerGap:
    """Return self-play and cross-play of agents trained apart."""
    c = square("payoffs", payoff_KK)
    if len(c) < 2:
        raise ConfigError("cross-play needs at least two agents")
    others = c[~np.eye(len(c), dtype=bool)]
    return PartnerGap(float(np.diag(c).mean()), float(others.mean()))


class SeverityCurve(NamedTuple):
    """Scores along one axis of change."""

    worst: float
    area: float
    """Mean height of the curve."""


def severity_curve(severity_P: ArrayLike, scores_P: ArrayLike) -> SeverityCurve:
    """Return the summary of normalised scores over growing severity (more players, ...)."""
    scores = finite("scores", scores_P, ndim=1)
    return SeverityCurve(float(scores.min()), float(area_under_curve(severity_P, scores)))
