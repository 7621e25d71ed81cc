"""Renew: make the current policy the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from coevo.envs.core.config import config
from coevo.trainers.cycle import Page, Step

if TYPE_CHECKING:
    from coevo.trainers.run import Run


@config
class Renew(Step):
    """Makes the current policy the reference, as iterated preference optimisation does."""

    moves_reference: ClassVar = True
    name: Literal["renew"] = "renew"

    def __call__(self, run: Run, page: Page) -> None:
        """Copy the weights of every learner into its reference."""
        for learner in run.learners.values():
            learner.move_reference()
