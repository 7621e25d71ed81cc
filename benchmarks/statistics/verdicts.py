"""What may be said about a family of comparisons: "better", or "not separated" and what it takes.

Each pair is tested by `sign_flip` on seed means; Holm's procedure keeps the chance of any false
"better" in the family below alpha. Effects and intervals stand beside the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import Array, finite, share
from coevo.benchmarks.statistics.bootstrap import REPLICATES, Interval
from coevo.benchmarks.statistics.improvement import improvement_interval
from coevo.benchmarks.statistics.paired import (
    PairedEffect,
    paired_effect,
    sign_flip,
    sign_flip_interval,
)
from coevo.benchmarks.statistics.power import paired_seeds, simulated_seeds
from coevo.benchmarks.statistics.score_table import ScoreTable
from coevo.envs.core.errors import ConfigError

MANY_SEEDS = 1000
"""Numbers of seeds beyond it are not spelled out."""


def holm(p_values: ArrayLike) -> Array:
    """Return p-values adjusted for their number (Holm 1979).

    The k-th smallest of m is multiplied by m - k + 1, and none falls below a smaller one's.
    statsmodels gives the same, but collects garbage at every call: a second in a large process.

    >>> holm([0.01, 0.04, 0.03, 0.005]).round(6).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    p = finite("p-values", p_values, ndim=1)
    if ((p < 0) | (p > 1)).any():
        raise ConfigError(f"p-values must lie between 0 and 1; got {p.tolist()}")
    order = np.argsort(p)
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1.0)


@dataclass(frozen=True)
class Comparison:
    """Two algorithms on the same seeds, with the verdict."""

    first: str
    second: str
    interval: Interval
    """Mean difference over seeds with the interval of the sign-flip test, not corrected."""
    p: float
    """Two-sided p of the sign-flip test."""
    p_adjusted: float
    """The same after Holm over the family."""
    effect: PairedEffect
    """Standardised size, and how much the shared seeds paired."""
    improvement: Interval
    """Probability that a run of the first beats one of the second."""
    family: int
    alpha: float
    """Chance of any false separation in the family that was accepted."""
    seeds_needed: float
    """Seeds that would separate an effect of this size 80 % of the time, at alpha / family."""

    @property
    def separated(self) -> bool:
        return self.p_adjusted <= self.alpha

    @property
    def verdict(self) -> str:
        runs = self.interval.runs
        if self.separated:
            better, worse = (self.first, self.second)[:: 1 if self.interval.point > 0 else -1]
            return (
                f"{better} is better than {worse} by {abs(self.interval.point):.3g} "
                f"(p = {self.p_adjusted:.2g} after Holm over {self.family}, n = {runs})"
            )
        return (
            f"{self.first} and {self.second} are not separated: no difference detected with "
            f"n = {runs} (p = {self.p_adjusted:.2g} after Holm over {self.family}); {self._needed}"
        )

    @property
    def _needed(self) -> str:
        if math.isnan(self.seeds_needed):
            return "one seed does not tell how many would be needed"
        if math.isinf(self.seeds_needed):
            return "the observed difference is nil, no number of seeds would separate it"
        needed = int(self.seeds_needed)
        if needed <= self.interval.runs:
            return f"an effect as large as observed is missed one time in five even with {needed}"
        if needed > MANY_SEEDS:
            return f"an effect as small as observed would take more than {MANY_SEEDS} seeds"
        return f"about {needed} seeds would separate an effect as large as observed"


def compare_all(
    table: ScoreTable,
    pairs: Sequence[tuple[str, str]],
    rng: Generator,
    *,
    alpha: float = 0.05,
    replicates: int = REPLICATES,
) -> list[Comparison]:
    """Return the comparison of every pair of a manifest, which are one family.

    Differences are taken between means over tasks, so scores must be normalised if tasks have
    different units. The number of seeds needed assumes that the observed effect is the true one,
    which favours small numbers; take it as an order of magnitude. `alpha` is the accepted chance of
    any false separation in the family.
    """
    if not pairs:
        raise ConfigError("no pairs to compare: name at least two algorithms")
    share("alpha", alpha)
    runs = table.scores
    means = {name: runs[name].mean(-1) for pair in pairs for name in pair}
    tests = [sign_flip(means[a] - means[b], rng) for a, b in pairs]
    adjusted = holm(tests)
    found = []
    for (a, b), p, p_adjusted in zip(pairs, tests, adjusted, strict=True):
        effect = paired_effect(means[a], means[b])
        found.append(
            Comparison(
                first=a,
                second=b,
                interval=sign_flip_interval(means[a] - means[b], 1 - alpha, rng),
                p=p,
                p_adjusted=float(p_adjusted),
                effect=effect,
                improvement=improvement_interval(runs[a], runs[b], rng, replicates),
                family=len(pairs),
                alpha=alpha,
                seeds_needed=_seeds_needed(effect, alpha / len(pairs), rng),
            )
        )
    return found


def _seeds_needed(effect: PairedEffect, alpha: float, rng: Generator) -> float:
    """Return NaN after a single seed; a constant difference needs only what alpha needs."""
    if effect.sd > 0 or math.isnan(effect.sd):
        return simulated_seeds(effect.d_z, rng, alpha=alpha)
    return paired_seeds(math.inf if effect.difference else 0.0, alpha)
