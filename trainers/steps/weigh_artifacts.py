"""Weigh artifacts: move their weights towards the rewards of the episodes that used them."""

from __future__ import annotations

from statistics import fmean
from typing import Annotated, ClassVar, Literal

from coevo.envs.core.config import config, real
from coevo.trainers.archive.injected_texts import worth_by_artifact
from coevo.trainers.cycle import Step, UpdateContext


@config
class WeighArtifacts(Step):
    """Moves the weight of every artifact that was used: w <- (1 - rate) w + rate mean reward.

    A moving average, because what a text is worth changes with the policy. The reward is that of
    the component that collection looks at (`collect.component`).
    """

    moves: ClassVar = True
    needs: ClassVar = ("episodes",)
    name: Literal["weigh_artifacts"] = "weigh_artifacts"
    rate: Annotated[float, real(above=0, high=1)] = 0.3
    """How fast a weight follows."""

    def __call__(self, ctx: UpdateContext) -> None:
        """Credit the artifacts of the fresh episodes, and log what the archive holds."""
        fresh = ctx.episodes.episodes[: ctx.episodes.fresh]
        component = ctx.algorithm.collect.component
        for name, found in worth_by_artifact(fresh, component).items():
            mean = fmean(worth for worth, _ in found)
            ctx.archive.credit(name, mean, self.rate, uses=len(found))
        ctx.metrics |= ctx.archive.metrics()
