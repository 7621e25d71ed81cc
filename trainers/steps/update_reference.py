"""Update the reference: make it the current policy."""

from __future__ import annotations

from typing import ClassVar, Literal

from coevo.envs.core.config import config
from coevo.trainers.cycle import Step, UpdateContext


@config
class UpdateReference(Step):
    """Makes the current policy the reference, as iterated preference optimisation does."""

    moves_reference: ClassVar = True
    name: Literal["update_reference"] = "update_reference"

    def __call__(self, ctx: UpdateContext) -> None:
        for learner in ctx.learners.values():
            learner.move_reference()
