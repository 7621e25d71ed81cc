"""Rounds of evolution against champions: what wins a round is an opponent in the later ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.selectors import Grid
from coevo.trainers.collect.tried import Tried, tried
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.steps.mutators import Mutating, RandomEdit
from coevo.trainers.steps.writers import Written

ELITES, CHAMPIONS = "elites", "champions"
"""What programs of the archive are `of`: the owners of cells in this round, and who won a round."""


@config
class Challenge(Step):
    """Evolves programs on a grid against opponents, for a part of a round.

    A round begins with an empty grid: new programs, the first opponents and the champions are
    placed in it. Then children of its elites are, one after the other. The best at the end of the
    round is its champion, and stays in the archive. A program is the reply of every seat of the
    environment, and is worth what this earns on average. All programs of a round are tried on the
    same tasks.
    """

    moves: ClassVar = True
    name: Literal["challenge"] = "challenge"
    by: Grid = Grid(edges=((4, 8, 12, 16), (3, 5, 7, 9)))
    descriptor: tuple[str, ...] = ("length", "opcodes")
    """Outcomes of the environment that are the axes of the grid."""
    mutate: Mutating = RandomEdit()
    first: tuple[str, ...] = ()
    """Opponents in all rounds; at least one."""
    remember: Annotated[int, whole(0)] = 20
    """Champions of the last so many rounds are opponents; 0 for none."""
    together: Annotated[bool, Field(strict=True)] = True
    """Whether a program meets all opponents in one episode; else each of them in its own."""
    option: str = "opponents"
    """Option of a reset of the environment that takes a list of opponents."""
    tasks: Annotated[int, whole(1)] = 20
    """Seeds on which a program is tried."""
    begin: Annotated[int, whole(1)] = 8
    """New programs at the beginning of a round."""
    fresh: Annotated[float, real(0, 1)] = 0.1
    """Probability that a child is a new program, without parents."""
    children: Annotated[int, whole(1)] = 10
    """Programs that are tried in an update, beside those with which a round begins."""
    updates: Annotated[int, whole(1)] = 25
    """Updates of a round."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.mutate.name,)

    def __call__(self, ctx: UpdateContext) -> None:
        if not self.first:
            raise ConfigError("cycle.challenge.first=[] names no opponent; give one program")
        rng = np.random.default_rng([ctx.seed, ctx.step, 31])
        failed = 0
        if ctx.step % self.updates == 0:
            ctx.archive.prune([a.id for a in self._elites(ctx)], ctx.step)
            failed += sum(not self._child(ctx, (), rng) for _ in range(self.begin))
            for text in (*self.first, *(str(a.payload) for a in self.champions(ctx))):
                self._placed(ctx, Written(text), ())
        for _ in range(self.children):
            living = self._elites(ctx)
            new = not living or rng.random() < self.fresh
            drawn = [] if new else [living[i] for i in rng.integers(len(living), size=2)]
            failed += not self._child(ctx, drawn, rng)
        if (ctx.step + 1) % self.updates == 0:
            self._crown(ctx)
        self._log(ctx, failed)

    def champions(self, ctx: UpdateContext) -> list[Artifact]:
        """Return the champions that are opponents now, the oldest first."""
        return ctx.archive.living("program", CHAMPIONS)[-self.remember :][: self.remember]

    def _elites(self, ctx: UpdateContext) -> list[Artifact]:
        return ctx.archive.living("program", ELITES)

    def _child(
        self, ctx: UpdateContext, parents: Sequence[Artifact], rng: np.random.Generator
    ) -> bool:
        return self._placed(ctx, self.mutate(ctx, parents, rng), parents)

    def _placed(self, ctx: UpdateContext, written: Written, parents: Sequence[Artifact]) -> bool:
        """Try a program and place it, if its cell is empty or its owner worse.

        Returns whether it could be read.
        """
        found = self._tried(ctx, written)
        if found.failure:
            return False
        child = Artifact("", "program", found.text, of=ELITES, born_at=ctx.step)
        child.parents = tuple(dict.fromkeys(a.id for a in parents))
        child.weight, child.uses = found.weight, found.turns
        child.descriptor = found.outcomes(self.descriptor)
        living = self._elites(ctx)
        kept = {id(a) for a in self.by([*living, child])}
        ctx.archive.prune([a.id for a in living if id(a) not in kept], ctx.step)
        if id(child) in kept:
            ctx.archive.add(child)
        return True

    def _tried(self, ctx: UpdateContext, written: Written) -> Tried:
        if written.failure:
            return Tried("", failure=written.failure)
        template, round_ = next(iter(ctx.envs.values())), ctx.step // self.updates
        seeds = np.random.SeedSequence([ctx.seed, round_, 32]).generate_state(self.tasks)
        plays = [(int(seed), options) for options in self._against(ctx) for seed in seeds]
        found = tried(template, written.text, plays, ctx.algorithm.advantage.reward_weights)
        ctx.count(turns=found.turns)
        return found

    def _against(self, ctx: UpdateContext) -> list[Mapping[str, Any]]:
        opponents = [*self.first, *(str(a.payload) for a in self.champions(ctx))]
        if self.together:
            return [{self.option: opponents}]
        return [{self.option: [one]} for one in opponents]

    def _crown(self, ctx: UpdateContext) -> None:
        """Keep the best of a round; of equal ones the youngest."""
        living = self._elites(ctx)
        if living:
            best = max(reversed(living), key=lambda a: a.weight)
            one = ctx.archive.propose(
                "program", best.payload, parents=[best.id], of=CHAMPIONS, step=ctx.step
            )
            one.weight, one.uses, one.descriptor = best.weight, best.uses, best.descriptor

    def _log(self, ctx: UpdateContext, failed: int) -> None:
        living = self._elites(ctx)
        ctx.metrics |= {
            "round": float(ctx.step // self.updates),
            "programs": float(len(living)),
            "programs/failed": float(failed),
            "programs/champions": float(len(ctx.archive.living("program", CHAMPIONS))),
        }
        if living:
            ctx.metrics["fitness/best"] = max(a.weight for a in living)
            ctx.metrics["qd_score"] = sum(a.weight for a in living)
