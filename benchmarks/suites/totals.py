"""The totals of a suite: means over environments, with intervals over start states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.statistics.aggregates import Statistic, interquartile_mean, mean
from coevo.benchmarks.statistics.arrays import Array
from coevo.benchmarks.statistics.bootstrap import Interval, percentiles
from coevo.benchmarks.statistics.normalise import normalise
from coevo.benchmarks.usage import Usage

REPLICATES = 2_000
"""Resamples of the starts behind an interval."""


@dataclass(frozen=True)
class Totals:
    """Over the environments with a normalised score."""

    iqm: Interval
    """Interquartile mean over environments; `runs` is their number."""
    mean: Interval
    left_out: dict[str, str]
    """Environments without a normalised score -> reason."""
    usage: Usage

    def to_dict(self) -> dict[str, Any]:
        return {
            "environments": self.iqm.runs,
            **_plain("iqm", self.iqm),
            **_plain("mean", self.mean),
            "left_out": self.left_out,
            "usage": asdict(self.usage),
        }


def totals(rows: Sequence[Measurement], rng: Generator, replicates: int = REPLICATES) -> Totals:
    """Average the normalised scores of a suite.

    The intervals come from resampling the starts inside every environment: they speak of other
    starts and samples on these environments, not of other environments, nor of other training
    seeds. Exact scores have no error. Bounds are NaN where an environment was played from one
    start.
    """
    scored = [row for row in rows if row.normalised is not None]
    left_out = {r.env: r.failed or r.source for r in rows if r.normalised is None}
    point_E = np.array([row.normalised for row in scored], dtype=float)
    drawn_BE = np.array([_resampled(row, rng, replicates) for row in scored]).T
    return Totals(
        _interval(interquartile_mean, point_E, drawn_BE),
        _interval(mean, point_E, drawn_BE),
        left_out,
        sum((row.usage for row in rows), Usage()),
    )


def _resampled(row: Measurement, rng: Generator, replicates: int) -> Array:
    """Return normalised scores of resampled starts: a constant where exact, NaN for one start."""
    if row.exact:
        return np.full(replicates, row.normalised, dtype=float)
    scores = np.asarray(row.task_scores)
    if len(scores) < 2 or row.references is None:
        return np.full(replicates, math.nan)
    means_B = scores[rng.integers(len(scores), size=(replicates, len(scores)))].mean(1)
    return normalise(means_B, row.references["random"], row.references["oracle"])


def _interval(statistic: Statistic, point_E: Array, drawn_BE: Array) -> Interval:
    if not len(point_E):
        return Interval(math.nan, math.nan, math.nan, 0)
    point = float(statistic(point_E[None, :]))
    if np.isnan(drawn_BE).any():
        return Interval(math.nan, point, math.nan, len(point_E))
    low, high = percentiles(np.asarray(statistic(drawn_BE[:, None, :])))
    return Interval(float(low), point, float(high), len(point_E))


def _plain(name: str, found: Interval) -> dict[str, Any]:
    bounds = None if math.isnan(found.low) else [found.low, found.high]
    return {
        name: None if math.isnan(found.point) else found.point,
        f"{name}_interval": bounds,
    }
