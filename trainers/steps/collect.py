"""Collect: play the episodes of an update and reward them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from coevo.envs.core.config import config
from coevo.trainers import ranks
from coevo.trainers.collect.metrics import rollout_metrics
from coevo.trainers.cycle import Page, Step

if TYPE_CHECKING:
    from coevo.trainers.checkpoint import Progress
    from coevo.trainers.collect.collector import Collected
    from coevo.trainers.run import Run


@config
class Collect(Step):
    """Plays episodes as the setting `collect` says, rewards them, and counts them."""

    gives: ClassVar = ("episodes",)
    in_ranks: ClassVar = True
    name: Literal["collect"] = "collect"

    def __call__(self, run: Run, page: Page) -> None:
        """Play; a replay buffer may first make the current policy the reference.

        Of several ranks the first one plays, and tells the others.
        """
        if run.collector.replay.reincarnates(page.step):
            for learner in run.learners.values():
                learner.move_reference()
        told = ranks.by_first(lambda: self._played(run, page))
        page.collected, page.metrics, run.progress = told

    def _played(self, run: Run, page: Page) -> tuple[Collected, dict[str, Any], Progress]:
        began = time.monotonic()
        found = run.collector.collect(page.step, page.cast)
        page.metrics["seconds/collect"] = time.monotonic() - began
        fresh = found.episodes[: found.fresh]
        run.progress = run.progress.plus(
            tokens=found.tokens, turns=sum(len(e.turns) for e in fresh)
        )
        seats = run.population.seats
        page.metrics |= rollout_metrics(seats, fresh) | found.metrics
        for env in run.envs if len(run.envs) > 1 else ():
            own = rollout_metrics(seats, [e for e in fresh if e.env == env])
            page.metrics |= {f"{env}/{name}": value for name, value in own.items()}
        run.count_judges(page.metrics)
        return found, page.metrics, run.progress
