"""Mark turns: a judge, or the environment, says of every reply whether it was good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from coevo.envs.core.config import choice, config, real
from coevo.envs.core.episode import Turn
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.judges import question as q


@config
class ByJudge:
    """A role is asked whether each reply is right: 1 for yes, -1 for no."""

    name: Literal["by_judge"] = "by_judge"
    role: str = "judge"
    """Role that is asked."""

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return (self.role,)

    def __call__(
        self, ctx: UpdateContext, turns: Sequence[Turn], rng: np.random.Generator
    ) -> list[float | None]:
        asked = [q.pointwise(q.asked_of(t), q.answer_of(t)) for t in turns]
        said = ctx.judges.ask(self.role, asked)
        ctx.count_judges()
        return [{q.YES: 1.0, q.NO: -1.0}.get(t.move or "") for t in said]


@config
class ByNote:
    """The environment's own note on a reply, a number; some marks are turned round, as a study."""

    roles_asked: ClassVar[tuple[str, ...]] = ()
    name: Literal["by_note"] = "by_note"
    note: Annotated[str, Field(min_length=1)] = "good"
    """Entry of a turn's notes; a reply without it gets no mark."""
    flips: Annotated[float, real(0, 1)] = 0.0
    """Chance that a mark changes its sign."""

    def __call__(
        self, ctx: UpdateContext, turns: Sequence[Turn], rng: np.random.Generator
    ) -> list[float | None]:
        sign = np.where(rng.random(len(turns)) < self.flips, -1.0, 1.0)
        noted = [t.notes.get(self.note) for t in turns]
        return [
            None if x is None else float(x) * float(s) for x, s in zip(noted, sign, strict=True)
        ]


@config
class MarkTurns(Step):
    """Writes a mark on every reply of a learner in the fresh episodes; credit may read it."""

    needs: ClassVar = ("episodes",)
    name: Literal["mark_turns"] = "mark_turns"
    mark: Annotated[str, Field(min_length=1)] = "good"
    """Name of the mark."""
    by: Annotated[ByJudge | ByNote, choice()] = ByJudge()
    """Who says what the mark is."""

    @property
    def marks(self) -> tuple[str, ...]:
        return (self.mark,)

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return self.by.roles_asked

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.mark, self.by.name)

    def __call__(self, ctx: UpdateContext) -> None:
        fresh = ctx.episodes.episodes[: ctx.episodes.fresh]
        turns = [t for e in fresh for t in e.turns if t.player in ctx.learners]
        found = self.by(ctx, turns, np.random.default_rng([ctx.seed, ctx.step, 13]))
        for turn, mark in zip(turns, found, strict=True):
            if mark is not None:
                turn.marks[self.mark] = mark
        given = [mark for mark in found if mark is not None]
        ctx.metrics[f"mark/{self.mark}/share"] = len(given) / max(len(turns), 1)
        if given:
            ctx.metrics[f"mark/{self.mark}"] = float(np.mean(given))
