"""Fit the reward modules that learn."""

from __future__ import annotations

from typing import ClassVar, Literal

from coevo.envs.core.config import config
from coevo.trainers import ranks
from coevo.trainers.cycle import Step, UpdateContext


@config
class FitRewards(Step):
    """Shows the fresh episodes to the reward modules that learn."""

    moves: ClassVar = True
    needs: ClassVar = ("episodes",)
    in_ranks: ClassVar = True
    name: Literal["fit_rewards"] = "fit_rewards"

    def __call__(self, ctx: UpdateContext) -> None:
        ctx.metrics |= ranks.broadcast_from_first(lambda: self._fitted(ctx))

    def _fitted(self, ctx: UpdateContext) -> dict[str, float]:
        found = ctx.episodes
        metrics: dict[str, float] = {}
        for module in ctx.collector.modules:
            seen = module.fit(found.episodes[: found.fresh])
            metrics |= {f"reward/{module.component}/{k}": v for k, v in seen.items()}
        return metrics
