"""Evolve texts: the better half survives, and agents write new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Artifact, Kind
from coevo.trainers.archive.selection import Truncation
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.steps.writers import Imitate, Newcoming


@config
class EvolveTexts(Step):
    """Prunes the worse of the texts, and lets newcomers write until every seat has one.

    The first generation, where there is no text yet, consists of newcomers without examples. A
    newcomer that fails repeats the best text that it was shown.
    """

    moves: ClassVar = True
    name: Literal["evolve_texts"] = "evolve_texts"
    kind: Kind = "instruction"
    """Which artifacts."""
    keep: Annotated[float, real(0, below=1)] = 0.5
    """Share of them that survives, by weight."""
    shown: Annotated[int, whole(0)] = 6
    """Survivors that a newcomer is shown, drawn anew for each; they are the parents of its text."""
    by: Newcoming = Imitate()

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.kind,)

    def __call__(self, ctx: UpdateContext) -> None:
        living = ctx.archive.living(self.kind)
        count = int(self.keep * len(living))
        kept = Truncation(keep=count)(living) if count else []
        ctx.archive.prune([a.id for a in living if a not in kept], ctx.step)
        for number in range(len(ctx.population.seats) - len(kept)):
            rng = np.random.default_rng([ctx.seed, ctx.step, number, 13])
            at = sorted(rng.permutation(len(kept))[: self.shown])
            self._born(ctx, [kept[i] for i in at], rng)

    def _born(
        self, ctx: UpdateContext, elders: Sequence[Artifact], rng: np.random.Generator
    ) -> None:
        written = self.by(ctx, elders, rng)
        if written.failure and not elders:
            raise ConfigError(
                f"cycle.evolve_texts: a newcomer who is shown nothing wrote nothing "
                f"({written.failure}); give every seat a text in cycle.inject_text.first"
            )
        text = str(elders[0].payload) if written.failure else written.text
        parents = [a.id for a in elders]
        one = ctx.archive.propose(self.kind, text, parents=parents, step=ctx.step)
        ctx.archive.evaluate(one.id, written.failure)
        name = f"archive/{self.kind}/failed"
        ctx.metrics[name] = ctx.metrics.get(name, 0.0) + bool(written.failure)
