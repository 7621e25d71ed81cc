"""Programs that no other one dominates: bred from pairs and by changes, for several objectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.breeding import keep
from coevo.trainers.archive.selectors import Pareto, undominated
from coevo.trainers.collect.tried import Tried, tried
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.steps.mutators import Mutating, RandomEdit
from coevo.trainers.steps.writers import Written

OF = "front"


@config
class EvolveFront(Step):
    """Breeds a generation of programs, and keeps the fronts that nothing dominates (NSGA-II).

    A parent is the better of two that are drawn: of an earlier front, then the less crowded. A
    child is made of two parents, or changed, or both; the mutator does either. A program is the
    reply of every seat of the environment. What earns nothing, or lives already, is not kept.
    """

    moves: ClassVar = True
    name: Literal["evolve_front"] = "evolve_front"
    by: Pareto = Pareto(keep=44)
    objectives: Annotated[tuple[str, ...], Field(min_length=1)] = ("worth", "thrift")
    """Outcomes of the environment; all are to be high."""
    mutate: Mutating = RandomEdit()
    begin: Annotated[int, whole(1)] = 32
    """The first programs, which are written without parents."""
    children: Annotated[int, whole(1)] = 8
    """Programs of a generation, which is an update."""
    crossover: Annotated[float, real(0, 1)] = 0.35
    """Probability that a child is made of two parents."""
    mutation: Annotated[float, real(0, 1)] = 0.8
    """Probability that it is changed; where it is neither, both are drawn again."""
    tasks: Annotated[int, whole(1)] = 1
    """Seeds on which a program is tried."""

    def __post_init__(self) -> None:
        if self.crossover == self.mutation == 0:
            raise ConfigError("evolve_front: crossover=0 and mutation=0 make no child")

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.mutate.name,)

    def __call__(self, ctx: UpdateContext) -> None:
        rng = np.random.default_rng([ctx.seed, ctx.step, 61])
        ranked = self.by(ctx.archive.living("program", OF))
        known, born, failed = {a.payload for a in ranked}, list[Artifact](), 0
        for number in range(self.children):
            new = not ranked or ctx.step * self.children + number < self.begin
            child = self._new(ctx, rng) if new else self._bred(ctx, ranked, rng)
            self._try(ctx, child)
            failed += not child.weight > 0
            if child.weight > 0 and child.payload not in known:
                known.add(child.payload)
                born.append(child)
        kept = keep(ctx.archive, born, self.by, of=OF, step=ctx.step, kind="program")
        self._log(ctx, kept, failed)

    def _new(self, ctx: UpdateContext, rng: np.random.Generator) -> Artifact:
        return self._written(ctx, self.mutate(ctx, (), rng), ())

    def _bred(
        self, ctx: UpdateContext, ranked: Sequence[Artifact], rng: np.random.Generator
    ) -> Artifact:
        joins = changes = False
        while not (joins or changes):
            joins, changes = rng.random() < self.crossover, rng.random() < self.mutation
        child = _drawn(ranked, rng)
        if joins:
            pair = (child, _drawn(ranked, rng))
            child = self._written(ctx, self.mutate(ctx, pair, rng), pair)
        if changes and not child.note:
            child = self._written(ctx, self.mutate(ctx, (child,), rng), (child,))
        return child

    def _written(self, ctx: UpdateContext, written: Written, of: Sequence[Artifact]) -> Artifact:
        """Return a program that was not tried yet, with the ids of its parents in the archive."""
        parents = [i for a in of for i in ((a.id,) if a.id else a.parents)]
        child = Artifact("", "program", written.text, of=OF, born_at=ctx.step)
        child.parents, child.note = tuple(dict.fromkeys(parents)), written.failure
        return child

    def _try(self, ctx: UpdateContext, child: Artifact) -> None:
        """Try a program, where there is one, and note what it earned."""
        if child.note:
            return
        seeds = np.random.SeedSequence([ctx.seed, 62]).generate_state(self.tasks).tolist()
        template, weights = next(iter(ctx.envs.values())), ctx.algorithm.advantage.reward_weights
        found: Tried = tried(template, child.payload, [(s, {}) for s in seeds], weights)
        ctx.count(turns=found.turns)
        child.weight, child.uses, child.note = found.weight, found.turns, found.failure
        if child.weight > 0:
            child.payload, child.objectives = found.text, found.outcomes(self.objectives)
            child.stats = dict(zip(self.objectives, child.objectives, strict=True))

    def _log(self, ctx: UpdateContext, kept: Sequence[Artifact], failed: int) -> None:
        ctx.metrics |= {"programs": float(len(kept)), "programs/failed": float(failed)}
        if kept:
            front_N = undominated(np.array([a.objectives for a in kept]))
            ctx.metrics |= {"front": float(front_N.sum())}
            for name in self.objectives:
                ctx.metrics[f"{name}/best"] = max(a.stats[name] for a in kept)


def _drawn(ranked: Sequence[Artifact], rng: np.random.Generator) -> Artifact:
    """Return the better of two that are drawn from what is ranked, the best first."""
    return ranked[int(rng.integers(len(ranked), size=2).min())]
