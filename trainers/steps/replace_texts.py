"""Replace the worst texts of the archive by a new one that was tried on held-out tasks."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import Annotated, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.trainers.archive.archive import Artifact, Kind
from coevo.trainers.archive.injected_texts import InjectedTexts, worth_by_artifact
from coevo.trainers.archive.selection import Truncation
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.steps.writers import Proposing, Reflect


@config
class ReplaceTexts(Step):
    """Prunes, lets new texts be written, tries them on held-out tasks, and inserts the best.

    What is new starts with the highest weight there is: it is tried by a policy that has learnt
    under older texts, and would look worse than it is.
    """

    moves: ClassVar = True
    needs: ClassVar = ("texts", "episodes")
    name: Literal["replace_texts"] = "replace_texts"
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
        return (self.kind,)

    def __call__(self, ctx: UpdateContext) -> None:
        archive = ctx.archive
        living = archive.living(self.kind)
        kept = Truncation(keep=self.keep - 1)(living)
        archive.prune([a.id for a in living if a not in kept], ctx.step)
        tried = self._tried(ctx, self._written(ctx, kept))
        if tried:
            best = max(tried, key=lambda a: a.stats["trial"])
            best.weight = max(a.weight for a in kept)
            archive.prune([a.id for a in tried if a is not best], ctx.step)
            ctx.metrics[f"archive/{self.kind}/trial"] = best.stats["trial"]

    def _written(self, ctx: UpdateContext, kept: list[Artifact]) -> list[Artifact]:
        fresh = ctx.episodes.episodes[: ctx.episodes.fresh]
        found = worth_by_artifact(fresh, ctx.algorithm.collect.component)
        made = []
        for number in range(self.candidates):
            rng = np.random.default_rng([ctx.seed, ctx.step, number, 5])
            parent = kept[number % len(kept)]
            shown = sorted(found.get(parent.id, []), key=lambda pair: pair[0])
            written = self.by(ctx, parent, shown, rng)
            one = ctx.archive.propose(self.kind, written.text, parents=[parent.id], step=ctx.step)
            if written.failure:
                ctx.archive.evaluate(one.id, written.failure)
                ctx.archive.prune([one.id], ctx.step)
            else:
                made.append(one)
        ctx.metrics[f"archive/{self.kind}/failed"] = float(self.candidates - len(made))
        return made

    def _tried(self, ctx: UpdateContext, made: list[Artifact]) -> list[Artifact]:
        """Play the same held-out tasks under every text, and note what they were worth."""
        assert isinstance(ctx.variation, InjectedTexts)  # the cycle was checked
        variations = [replace(ctx.variation, artifacts=[one]) for one in made]
        played = ctx.collector.held_out(self.tasks, ctx.step, variations)
        component = ctx.algorithm.collect.component
        for one, episodes in zip(made, played, strict=True):
            ctx.count(
                tokens=ctx.collector.tokens(episodes), turns=sum(len(e.turns) for e in episodes)
            )
            worth = [x for x, _ in worth_by_artifact(episodes, component).get(one.id, [])]
            ctx.archive.evaluate(one.id, trial=fmean(worth) if worth else -np.inf)
        return made
