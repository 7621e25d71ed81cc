"""Revise: have the text that is in use rewritten from what it led to."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Kind
from coevo.trainers.archive.propose import Proposing, Review
from coevo.trainers.cycle import Page, Step

if TYPE_CHECKING:
    from coevo.trainers.run import Run


@config
class Revise(Step):
    """Shows a reviewer the newest text and the episodes of this update; its text replaces that.

    The old text stays on record as the parent of the new. A reviewer that fails, or has nothing to
    change, leaves all as it is.
    """

    moves: ClassVar = True
    needs: ClassVar = ("episodes",)
    name: Literal["revise"] = "revise"
    kind: Kind = "rubric"
    """Which artifacts."""
    by: Proposing = Review()
    component: str = "rubric"
    """Reward that was given by the text; the reviewer sees the episodes in its order."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What is rewritten."""
        return (self.kind,)

    def __call__(self, run: Run, page: Page) -> None:
        """Let the newest text be rewritten."""
        archive = run.archive
        if not archive.living(self.kind):
            raise ConfigError(
                f"cycle.revise: there is no {self.kind} to rewrite; put draw({self.kind}) before it"
            )
        parent = archive.living(self.kind)[-1]
        found = self._found(page.episodes.episodes[: page.episodes.fresh])
        rng = np.random.default_rng([run.config.seed, page.step, 12])
        written = self.by(run, parent, found, rng)
        parent.uses += len(found)
        if found:
            archive.evaluate(parent.id, reward=fmean(worth for worth, _ in found))
        if written.failure or written.text != parent.payload:
            one = archive.propose(self.kind, written.text, parents=[parent.id], step=page.step)
            archive.evaluate(one.id, written.failure)
            archive.prune([one.id if written.failure else parent.id], page.step)
        page.metrics[f"archive/{self.kind}/failed"] = float(bool(written.failure))

    def _found(self, episodes: list[Episode]) -> list[tuple[float, Episode]]:
        """Return what seats were paid, with their episodes, the worst first."""
        paid = [
            (reward, episode)
            for episode in episodes
            for turn in episode.turns
            for reward in turn.rewards.get(self.component, {}).values()
        ]
        return sorted(paid, key=lambda pair: pair[0])
