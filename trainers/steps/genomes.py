"""Steps of a genetic algorithm: children of the kept genomes play, and a selector keeps some."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Annotated, ClassVar, Literal

import numpy as np
from torch import Tensor

from coevo.agents.policy import Policy
from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.breeding import Among, children, keep
from coevo.trainers.archive.genome import Entries, Genome, grown
from coevo.trainers.archive.selectors import Selecting, Truncation
from coevo.trainers.collect.metrics import worth
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.learners.learner import Learner
from coevo.trainers.steps.generations import Generation, by_member, players, variant


@dataclass(frozen=True)
class Brood(Generation):
    """A generation whose members have parents."""

    born: Mapping[str, Sequence[Artifact]] = field(default_factory=dict)
    """Policy -> the genome of every member; one that has an id is a parent that plays again."""


@config
class BreedGeneration(Step):
    """Mutates kept genomes of every learner; a group is one episode of each child.

    A genome is the list of the seeds of its mutations, each with the size of its step, from the
    weights with which the run began: a few numbers a generation, whatever the model. Parents are
    drawn from all that live, with equal chances.
    """

    moves: ClassVar = True
    varies_episodes: ClassVar = True
    gives: ClassVar = ("generation",)
    name: Literal["breed_generation"] = "breed_generation"
    genome: Genome = Entries()
    sigma: Annotated[float, real(above=0)] = 0.1
    """Deviation of a child from its parent, in every number."""
    first: Annotated[float, real(above=0)] = 0.1
    """Deviation of the first generation from the weights at the start."""
    elites: Annotated[int, whole(0)] = 0
    """The best parents, which play again unchanged; their weight is then measured anew."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.genome.name,)

    def __call__(self, ctx: UpdateContext) -> None:
        count = ctx.algorithm.collect.group_size
        agents: dict[str, Policy] = {}
        points: dict[str, Tensor] = {}
        born: dict[str, list[Artifact]] = {}
        for number, (name, learner) in enumerate(players(ctx)):
            start = self._start(ctx, name, learner)
            rng = np.random.default_rng([ctx.seed, ctx.step, number, 19])
            born[name] = children(
                ctx.archive,
                count,
                rng,
                of=name,
                step=ctx.step,
                sigma=self.sigma,
                first=self.first,
                elites=self.elites,
            )
            for i, child in enumerate(born[name]):
                whose = f"{name}@{i}"
                genome_D = grown(start["genome_D"], child.payload["seeds"])
                agents[whose] = variant(learner, self.genome, whose, genome_D, start)
            points[name] = start["genome_D"]
        ctx.variation = Brood(agents, points, count, born)

    def _start(self, ctx: UpdateContext, name: str, learner: Learner) -> dict[str, Tensor]:
        """Return the weights that all genomes of a learner start from, noted the first time."""
        if not ctx.archive.living("snapshot", name):
            tensors = self.genome.begin(learner.model)
            ctx.archive.propose("snapshot", {}, of=name, step=ctx.step, tensors=tensors)
        return ctx.archive.living("snapshot", name)[0].tensors


@config
class SelectGenomes(Step):
    """Keeps some of the children, and of those that lived before; the best becomes the policy.

    The weight of a genome is the mean over its episodes of the sum of its rewards, each component
    with its weight (`advantage.reward_weights`). A child that finished none is not kept.
    """

    moves: ClassVar = True
    needs: ClassVar = ("generation", "episodes")
    name: Literal["select_genomes"] = "select_genomes"
    by: Selecting = Truncation(keep=20)
    among: Among = "all"
    """Whether those that were kept before compete with the children, or make way for them."""
    descriptor: tuple[str, ...] = ()
    """What says how a genome behaves: outcomes of the environment, or measures of a seat, which are
    `turns`, `variety` (distinct moves by turns) and `length` (characters of a reply)."""

    def __post_init__(self) -> None:
        if self.by.described and not self.descriptor:
            raise ConfigError(
                f"cycle.select_genomes.by={self.by.name!r} compares descriptors, and "
                "descriptor=[] names none; name outcomes of the environment, or [turns, variety]"
            )

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.by.name,)

    def __call__(self, ctx: UpdateContext) -> None:
        if not isinstance(ctx.variation, Brood):
            raise ConfigError(
                "cycle: select_genomes keeps genomes of breed_generation; after sample_generation "
                "use update_genome"
            )
        for member in ctx.variation.agents.values():
            member.retire()
        fresh = ctx.episodes.episodes[: ctx.episodes.fresh]
        for name, born in ctx.variation.born.items():
            played = by_member(fresh, name, ctx.variation.count)
            self._measure(ctx, born, played)
            whole_ones = [a for a, own in zip(born, played, strict=True) if own]
            kept = keep(ctx.archive, whole_ones, self.by, of=name, step=ctx.step, among=self.among)
            if kept:
                self._write(ctx, name, max(kept, key=lambda a: a.weight))
            whose = "" if len(ctx.variation.born) == 1 else f"{name}/"
            ctx.metrics |= self._metrics(whose, born, kept)

    def _measure(
        self,
        ctx: UpdateContext,
        born: Sequence[Artifact],
        played: Sequence[Sequence[tuple[Episode, str]]],
    ) -> None:
        weights = ctx.algorithm.advantage.reward_weights
        for one, own in zip(born, played, strict=True):
            if not own:
                one.weight = -np.inf
                continue
            one.weight = fmean(worth(e, seat, weights) for e, seat in own)
            one.uses += len(own)
            one.descriptor = tuple(
                fmean(_described(e, seat, name) for e, seat in own) for name in self.descriptor
            )
            one.objectives = tuple(
                fmean(e.total(seat, c) for e, seat in own) for c in ctx.collector.components
            )

    def _write(self, ctx: UpdateContext, name: str, best: Artifact) -> None:
        bred = next(s for s in ctx.cycle if isinstance(s, BreedGeneration))
        (start,) = ctx.archive.living("snapshot", name)
        genome_D = grown(start.tensors["genome_D"], best.payload["seeds"])
        bred.genome.write(ctx.learners[name].model, genome_D, start.tensors)

    def _metrics(
        self, whose: str, born: Sequence[Artifact], kept: Sequence[Artifact]
    ) -> dict[str, float]:
        found = [a.weight for a in born if a.weight > -np.inf]
        metrics = {f"{whose}genomes": float(len(kept))}
        if kept:
            metrics[f"{whose}fitness/best"] = max(a.weight for a in kept)
            metrics[f"{whose}qd_score"] = sum(a.weight for a in kept)
        return metrics | ({f"{whose}fitness": fmean(found)} if found else {})


MEASURES: Mapping[str, Callable[[Sequence[Turn]], float]] = {
    "turns": len,
    "variety": lambda turns: len({t.move for t in turns}) / len(turns),
    "length": lambda turns: fmean(len(t.text) for t in turns),
}
"""Descriptors of what a seat did, in any environment."""


def _described(episode: Episode, seat: str, name: str) -> float:
    if name in MEASURES:
        return float(MEASURES[name]([t for t in episode.turns if t.agent == seat]))
    if name not in episode.outcome:
        known = {**MEASURES, **episode.outcome}
        raise unknown(f"descriptor of {episode.env}", name, known)
    return episode.outcome[name]
