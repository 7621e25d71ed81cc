"""Source tasks: which task of a family to train next, so that all of it is served.

Source: MBTL, arXiv 2408.04498.

A policy that was trained in one context is used in others, where it loses in proportion to the
distance: J(x, x') = J(x, x) - slope |x - x'|. Every context gets the best policy that there is. The
next context to train in is the one that is expected to raise the mean of these most; J(x, x) is
predicted by a Gaussian process from the contexts that were trained in.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from coevo.trainers.samplers.predicted import Floats, posterior

STANDARD = NormalDist()


def envelope(
    sources: Sequence[float], trained: Sequence[float], slope: float, at: Floats
) -> Floats:
    """Return what the best of the trained policies is predicted to earn in every context, [M].

    Args:
        sources: contexts that policies were trained in; at least one.
        trained: what each earns there.
        slope: what is lost per unit of distance.
        at: contexts, [M].

    >>> envelope([0.0, 1.0], [1.0, 0.75], 1.0, np.array([0.0, 0.5, 1.0])).tolist()
    [1.0, 0.5, 0.75]
    """
    apart_KM = np.abs(np.subtract.outer(np.asarray(sources, float), at))
    found: Floats = (np.asarray(trained, float)[:, None] - slope * apart_KM).max(0)
    return found


def gains(
    sources: Sequence[float],
    trained: Sequence[float],
    slope: float,
    at: Floats,
    *,
    noise: float = 1e-3,
    untrained: float = 0.0,
) -> Floats:
    """Return by how much a policy from every context is expected to raise the mean, [M].

    That is the mean over x' of E[max(J - slope |x - x'| - U(x'), 0)], U the envelope and J normal
    with the mean and the deviation of the Gaussian process; `noise` 0 takes the mean for certain.

    Args:
        sources: contexts that policies were trained in; with none J is the same everywhere.
        trained: what each earns there.
        slope: what is lost per unit of distance.
        at: contexts, both those to choose from and those to serve, [M].
        noise: deviation of what was measured.
        untrained: what is earned where there is no policy yet; below anything that is trained.

    >>> gains([], [], 1.0, np.array([0.0, 0.5, 1.0])).round(2).tolist()
    [0.5, 0.67, 0.5]
    """
    mean_M, std_M = np.full(len(at), untrained + slope * np.ptp(at)), np.zeros(len(at))
    served_M = np.full(len(at), untrained)
    if sources:
        x_K1, worth_K = np.asarray(sources, float)[:, None], np.asarray(trained, float)
        mean_M, std_M = posterior(x_K1, worth_K, at[:, None], max(noise, 1e-9))
        served_M = envelope(sources, trained, slope, at)
    reach_MM = mean_M[:, None] - slope * np.abs(at[:, None] - at) - served_M
    if not noise or not sources:
        return reach_MM.clip(0.0).mean(1)
    std_M1 = std_M.clip(1e-12)[:, None]
    expected_MM = np.vectorize(_expected)(reach_MM / std_M1) * std_M1
    found: Floats = expected_MM.mean(1)
    return found


def _expected(z: float) -> float:
    """Return E[max(X, 0)] of a normal X with mean z and deviation 1."""
    return z * STANDARD.cdf(z) + STANDARD.pdf(z)


def next_source(gain_M: Floats, at: Floats) -> float:
    """Return the context with the highest gain; of equal ones the first.

    >>> at = np.linspace(0, 1, 7)
    >>> next_source(gains([], [], 1.0, at), at)
    0.5
    """
    best = int(np.flatnonzero(gain_M >= gain_M.max() - 1e-9)[0])
    return float(at[best])
