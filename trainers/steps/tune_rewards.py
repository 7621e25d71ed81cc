"""Tune rewards: their weights follow what inner runs under them truly earn (BARFI)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import unknown
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.cycle import UpdateContext
from coevo.trainers.steps.inner_run import Trial


@config
class TuneRewards(Trial):
    """Moves the weights of reward components so that what is learnt under them earns more.

    The slope of every weight is a central difference of two inner runs: w <- clip(w + rate (J(w +
    apart) - J(w - apart)) / (2 apart)). The steps behind it learn by the newest weights, which are
    artifacts of kind `formula`; the first are those of `advantage.reward_weights`, 1 where it names
    none.
    """

    name: Literal["tune_rewards"] = "tune_rewards"
    components: tuple[str, ...] = ("payoff",)
    """Reward components whose weights move."""
    every: Annotated[int, whole(1)] = 10
    """Updates between two moves."""
    apart: Annotated[float, real(above=0)] = 0.25
    """Half of the distance between the two weights that are tried."""
    rate: Annotated[float, real(above=0)] = 1.0
    """Length of a move for a slope of 1."""
    most: Annotated[float, real(above=0)] = 2.0
    """Largest size of a weight."""

    @property
    def parts(self) -> tuple[str, ...]:
        return self.components

    def __call__(self, ctx: UpdateContext) -> None:
        newest = self._newest(ctx)
        if ctx.step % self.every == 0:
            newest = self._moved(ctx, newest)
        ctx.weigh(newest.payload)
        ctx.metrics |= {f"weight/{c}": newest.payload[c] for c in self.components}

    def _newest(self, ctx: UpdateContext) -> Artifact:
        """Return the weights of now, those of the configuration at first."""
        living = ctx.archive.living("formula")
        if living:
            return living[-1]
        paid = ctx.collector.components
        for component in self.components:
            if component not in paid:
                raise unknown("reward in cycle.tune_rewards.components", component, paid)
        given = ctx.algorithm.advantage.reward_weights
        first = {c: float(given.get(c, 1.0)) for c in self.components}
        return ctx.archive.propose("formula", first, step=ctx.step)

    def _moved(self, ctx: UpdateContext, parent: Artifact) -> Artifact:
        """Return new weights, and put the fitness on both sides of the old ones on record."""
        fitness = {
            (c, side): self._tried(ctx, parent.payload, c, side)
            for c in self.components
            for side in (-1, 1)
        }
        slopes = {c: (fitness[c, 1] - fitness[c, -1]) / (2 * self.apart) for c in self.components}
        moved = {
            c: float(np.clip(w + self.rate * slopes[c], -self.most, self.most))
            for c, w in parent.payload.items()
        }
        parent.weight = float(np.mean(list(fitness.values())))
        ctx.archive.evaluate(parent.id, "", **{f"slope/{c}": s for c, s in slopes.items()})
        made = ctx.archive.propose("formula", moved, parents=[parent.id], step=ctx.step)
        ctx.archive.prune([parent.id], ctx.step)
        ctx.metrics["inner/fitness"] = parent.weight
        return made

    def _tried(
        self, ctx: UpdateContext, weights: Mapping[str, float], component: str, side: int
    ) -> float:
        """Return what a run earns with one of the weights changed."""
        tried = {**ctx.algorithm.advantage.reward_weights, **weights}
        tried[component] += side * self.apart
        name = f"{ctx.step:06d}_{component}_{'up' if side > 0 else 'down'}"
        found = self.tried(ctx, {"algorithm.advantage.reward_weights": tried}, name)
        ctx.metrics["inner/failed"] = ctx.metrics.get("inner/failed", 0.0) + bool(found.note)
        return found.value
