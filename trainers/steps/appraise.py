"""Appraise: credit what was injected with what its episodes earned."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from coevo.envs.core.config import config, real
from coevo.trainers.archive.told import worth_by_artifact
from coevo.trainers.cycle import Page, Step

if TYPE_CHECKING:
    from coevo.trainers.run import Run


@config
class Appraise(Step):
    """Moves the weight of every artifact that was used: w <- (1 - rate) w + rate mean reward.

    A moving average, because what a text is worth changes with the policy. The reward is that of
    the component that collection looks at (`collect.component`).
    """

    moves: ClassVar = True
    needs: ClassVar = ("episodes",)
    name: Literal["appraise"] = "appraise"
    rate: Annotated[float, real(above=0, high=1)] = 0.3
    """How fast a weight follows."""

    def __call__(self, run: Run, page: Page) -> None:
        """Credit the artifacts of the fresh episodes, and log what the archive holds."""
        fresh = page.episodes.episodes[: page.episodes.fresh]
        component = run.config.algorithm.collect.component
        for name, found in worth_by_artifact(fresh, component).items():
            mean = fmean(worth for worth, _ in found)
            run.archive.credit(name, mean, self.rate, uses=len(found))
        page.metrics |= run.archive.metrics()
