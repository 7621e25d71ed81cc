"""Fit: let the reward modules learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from coevo.envs.core.config import config
from coevo.trainers import ranks
from coevo.trainers.cycle import Page, Step

if TYPE_CHECKING:
    from coevo.trainers.run import Run


@config
class Fit(Step):
    """Shows the fresh episodes to the reward modules that learn."""

    moves: ClassVar = True
    needs: ClassVar = ("episodes",)
    in_ranks: ClassVar = True
    name: Literal["fit"] = "fit"

    def __call__(self, run: Run, page: Page) -> None:
        """Fit every module, and log what it reports."""
        page.metrics |= ranks.by_first(lambda: self._fitted(run, page))

    def _fitted(self, run: Run, page: Page) -> dict[str, float]:
        found = page.episodes
        metrics: dict[str, float] = {}
        for module in run.collector.modules:
            seen = module.fit(found.episodes[: found.fresh])
            metrics |= {f"reward/{module.component}/{k}": v for k, v in seen.items()}
        return metrics
