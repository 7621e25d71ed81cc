"""Inject a text of the archive into prompts of the next episodes, or of a judge."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Kind
from coevo.trainers.archive.injected_texts import InjectedTexts
from coevo.trainers.archive.selection import Deal, Sharing, Softmax
from coevo.trainers.collect.injected import Injected, Trained
from coevo.trainers.cycle import Step, UpdateContext


@config
class InjectText(Step):
    """Draws a text for every group, deals one to every seat, or draws one for a judge.

    Turns say which, and how they are learnt from.
    """

    moves: ClassVar = True
    varies_episodes: ClassVar = True
    name: Literal["inject_text"] = "inject_text"
    kind: Kind = "instruction"
    """Which artifacts."""
    by: Sharing = Softmax()
    seats: tuple[str, ...] = ()
    """Seats whose prompts get the text, such as `[solver_*]`; empty for every seat of a learner."""
    trained: Trained = "as_seen"
    """Whether a reply is learnt under the prompt that was seen, or under the one `stripped` of the
    text."""
    role: str = ""
    """Role of judges whose prompts get the text instead, one text for the whole update."""
    first: tuple[str, ...] = ()
    """Texts that the archive holds at the start."""

    def __post_init__(self) -> None:
        if self.role and isinstance(self.by, Deal):
            raise ConfigError(
                f"cycle.inject_text.role={self.role!r} and by={self.by.name!r} contradict "
                "each other: judges have no seats; draw by softmax"
            )

    @property
    def gives(self) -> tuple[str, ...]:
        """Texts in prompts of seats; texts for a judge concern no later step."""
        return () if self.role else ("texts",)

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return (self.role,) if self.role else ()

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.kind,)

    def __call__(self, ctx: UpdateContext) -> None:
        """Fill an archive that has none of this kind, and set the cast."""
        archive = ctx.archive
        if not archive.living(self.kind):
            for text in self.first:
                archive.propose(self.kind, text, step=ctx.step)
        living = archive.living(self.kind)
        if not living:
            raise ConfigError(
                f"cycle.inject_text: there is no {self.kind} to draw; give some in "
                "cycle.inject_text.first"
            )
        entropy = (ctx.seed, ctx.step)
        if self.role:
            assert isinstance(self.by, Softmax)  # checked above
            drawn = self.by(living, np.random.default_rng([*entropy, 4]))
            ctx.judges.injected[self.role] = Injected(drawn.id, str(drawn.payload))
            return
        ctx.variation = InjectedTexts(
            living, self.by, self.seats, self.trained, ctx.learners.keys(), entropy
        )
