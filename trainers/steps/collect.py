"""Collect: play the episodes of an update and reward them."""

from __future__ import annotations

import time
from typing import Any, ClassVar, Literal

from coevo.envs.core.config import config
from coevo.trainers import ranks
from coevo.trainers.collect.collector import Collected
from coevo.trainers.collect.metrics import rollout_metrics
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.progress import Progress


@config
class Collect(Step):
    """Plays episodes as the setting `collect` says, rewards them, and counts them."""

    gives: ClassVar = ("episodes",)
    in_ranks: ClassVar = True
    name: Literal["collect"] = "collect"

    def __call__(self, ctx: UpdateContext) -> None:
        """Play on the first rank, and broadcast the episodes.

        A replay buffer may first make the current policy the reference.
        """
        if ctx.collector.replay.reincarnates(ctx.step):
            for learner in ctx.learners.values():
                learner.move_reference()
        played = ranks.broadcast_from_first(lambda: self._played(ctx))
        ctx.collected, ctx.metrics, ctx.progress = played

    def _played(self, ctx: UpdateContext) -> tuple[Collected, dict[str, Any], Progress]:
        began = time.monotonic()
        found = ctx.collector.collect(ctx.step, ctx.variation)
        ctx.metrics["seconds/collect"] = time.monotonic() - began
        fresh = found.episodes[: found.fresh]
        ctx.count(tokens=found.tokens, turns=sum(len(e.turns) for e in fresh))
        seats = ctx.population.seats
        ctx.metrics |= rollout_metrics(seats, fresh) | found.metrics
        for env in ctx.envs if len(ctx.envs) > 1 else ():
            own = rollout_metrics(seats, [e for e in fresh if e.env == env])
            ctx.metrics |= {f"{env}/{name}": value for name, value in own.items()}
        ctx.count_judges()
        return found, ctx.metrics, ctx.progress
