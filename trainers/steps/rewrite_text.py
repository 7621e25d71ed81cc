"""Rewrite the text in use, given the episodes that it led to."""

from __future__ import annotations

from statistics import fmean
from typing import ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Kind
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.steps.writers import Proposing, Review


@config
class RewriteText(Step):
    """Shows a reviewer the newest text and the episodes of this update; its text replaces that.

    The old text stays on record as the parent of the new. A reviewer that fails, or has nothing to
    change, leaves all as it is.
    """

    moves: ClassVar = True
    needs: ClassVar = ("episodes",)
    name: Literal["rewrite_text"] = "rewrite_text"
    kind: Kind = "rubric"
    """Which artifacts."""
    by: Proposing = Review()
    component: str = "rubric"
    """Reward that was given by the text; the reviewer sees the episodes in its order."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.kind,)

    def __call__(self, ctx: UpdateContext) -> None:
        archive = ctx.archive
        if not archive.living(self.kind):
            raise ConfigError(
                f"cycle.rewrite_text: there is no {self.kind} to rewrite; put "
                f"inject_text({self.kind}) before it"
            )
        parent = archive.living(self.kind)[-1]
        found = self._found(ctx.episodes.episodes[: ctx.episodes.fresh])
        rng = np.random.default_rng([ctx.seed, ctx.step, 12])
        written = self.by(ctx, parent, found, rng)
        parent.uses += len(found)
        if found:
            archive.evaluate(parent.id, reward=fmean(worth for worth, _ in found))
        if written.failure or written.text != parent.payload:
            one = archive.propose(self.kind, written.text, parents=[parent.id], step=ctx.step)
            archive.evaluate(one.id, written.failure)
            archive.prune([one.id if written.failure else parent.id], ctx.step)
        ctx.metrics[f"archive/{self.kind}/failed"] = float(bool(written.failure))

    def _found(self, episodes: list[Episode]) -> list[tuple[float, Episode]]:
        """Return the rewards of seats with their episodes, the worst first."""
        paid = [
            (reward, episode)
            for episode in episodes
            for turn in episode.turns
            for reward in turn.rewards.get(self.component, {}).values()
        ]
        return sorted(paid, key=lambda pair: pair[0])
