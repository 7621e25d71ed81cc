"""Refresh: replace the worst texts of the archive by one that was written and tried now."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.trainers.archive.archive import Artifact, Kind
from coevo.trainers.archive.propose import Proposing, Reflect
from coevo.trainers.archive.selection import Truncation
from coevo.trainers.archive.told import Told, worth_by_artifact
from coevo.trainers.cycle import Page, Step

if TYPE_CHECKING:
    from coevo.trainers.run import Run


@config
class Refresh(Step):
    """Prunes, lets new texts be written, tries them on held-out tasks, and inserts the best.

    What is new starts with the highest weight there is: it is tried by a policy that has learnt
    under older texts, and would look worse than it is.
    """

    moves: ClassVar = True
    needs: ClassVar = ("texts", "episodes")
    name: Literal["refresh"] = "refresh"
    kind: Kind = "instruction"
    """Which artifacts."""
    keep: Annotated[int, whole(2)] = 4
    """How many there are afterwards."""
    by: Proposing = Reflect()
    candidates: Annotated[int, whole(1)] = 2
    """Texts that are written; the parents of one after the other are the best, the second best."""
    tasks: Annotated[int, whole(1)] = 16
    """Held-out tasks on which each of them is tried once."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What is replaced."""
        return (self.kind,)

    def __call__(self, run: Run, page: Page) -> None:
        """Replace; texts that could not be written stay on record as failures."""
        archive = run.archive
        living = archive.living(self.kind)
        kept = Truncation(keep=self.keep - 1)(living)
        archive.prune([a.id for a in living if a not in kept], page.step)
        tried = self._tried(run, page, self._written(run, page, kept))
        if tried:
            best = max(tried, key=lambda a: a.stats["trial"])
            best.weight = max(a.weight for a in kept)
            archive.prune([a.id for a in tried if a is not best], page.step)
            page.metrics[f"archive/{self.kind}/trial"] = best.stats["trial"]

    def _written(self, run: Run, page: Page, kept: list[Artifact]) -> list[Artifact]:
        """Return the new texts, in the archive."""
        fresh = page.episodes.episodes[: page.episodes.fresh]
        found = worth_by_artifact(fresh, run.config.algorithm.collect.component)
        made = []
        for number in range(self.candidates):
            rng = np.random.default_rng([run.config.seed, page.step, number, 5])
            parent = kept[number % len(kept)]
            shown = sorted(found.get(parent.id, []), key=lambda pair: pair[0])
            written = self.by(run, parent, shown, rng)
            one = run.archive.propose(self.kind, written.text, parents=[parent.id], step=page.step)
            if written.failure:
                run.archive.evaluate(one.id, written.failure)
                run.archive.prune([one.id], page.step)
            else:
                made.append(one)
        page.metrics[f"archive/{self.kind}/failed"] = float(self.candidates - len(made))
        return made

    def _tried(self, run: Run, page: Page, made: list[Artifact]) -> list[Artifact]:
        """Play the same held-out tasks under every text, and note what they were worth."""
        assert isinstance(page.cast, Told)  # the cycle was checked
        casts = [replace(page.cast, artifacts=[one]) for one in made]
        played = run.collector.held_out(self.tasks, page.step, casts)
        component = run.config.algorithm.collect.component
        for one, episodes in zip(made, played, strict=True):
            run.progress = run.progress.plus(
                tokens=run.collector.tokens(episodes), turns=sum(len(e.turns) for e in episodes)
            )
            worth = [x for x, _ in worth_by_artifact(episodes, component).get(one.id, [])]
            run.archive.evaluate(one.id, trial=fmean(worth) if worth else -np.inf)
        return made
