"""Draw: tell the episodes that are going to be collected a text of the archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from coevo.envs.core.config import config
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Kind
from coevo.trainers.archive.selection import Softmax
from coevo.trainers.archive.told import Told
from coevo.trainers.collect.injected import Trained
from coevo.trainers.cycle import Page, Step

if TYPE_CHECKING:
    from coevo.trainers.run import Run


@config
class Draw(Step):
    """Draws a text for every group; the turns say which, and how they are learnt from."""

    moves: ClassVar = True
    casts: ClassVar = True
    gives: ClassVar = ("texts",)
    name: Literal["draw"] = "draw"
    kind: Kind = "instruction"
    """Which artifacts."""
    by: Softmax = Softmax()
    seats: tuple[str, ...] = ()
    """Who is told, such as `[solver_*]`; empty for every seat of a learner."""
    trained: Trained = "as_seen"
    """Whether a reply is learnt under the prompt that was seen, or under the one `stripped` of the
    text."""
    first: tuple[str, ...] = ()
    """Texts that the archive holds at the start."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What is drawn."""
        return (self.kind,)

    def __call__(self, run: Run, page: Page) -> None:
        """Fill an archive that has none of this kind, and set the cast."""
        archive = run.archive
        if not archive.living(self.kind):
            for text in self.first:
                archive.propose(self.kind, text, step=page.step)
        living = archive.living(self.kind)
        if not living:
            raise ConfigError(
                f"cycle.draw: there is no {self.kind} to draw; give some in cycle.draw.first"
            )
        entropy = (run.config.seed, page.step)
        page.cast = Told(living, self.by, self.seats, self.trained, run.learners.keys(), entropy)
