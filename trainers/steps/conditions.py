"""Conditions: steps that are not taken in every update."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from coevo.envs.core.config import choice, config, real, whole
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.steps.evolve_texts import EvolveTexts
from coevo.trainers.steps.filter_pairs import FilterPairs
from coevo.trainers.steps.fit_rewards import FitRewards
from coevo.trainers.steps.inject_text import InjectText
from coevo.trainers.steps.inner_run import InnerRun
from coevo.trainers.steps.make_items import MakeItems
from coevo.trainers.steps.policy_gradient import (
    BuildBatch,
    Collect,
    ComputeAdvantages,
    ReplayUpdate,
    Update,
)
from coevo.trainers.steps.question_judge import QuestionJudge
from coevo.trainers.steps.replace_texts import ReplaceTexts
from coevo.trainers.steps.rewrite_text import RewriteText
from coevo.trainers.steps.sample_generation import SampleGeneration
from coevo.trainers.steps.update_genome import UpdateGenome
from coevo.trainers.steps.update_reference import UpdateReference
from coevo.trainers.steps.weigh_artifacts import WeighArtifacts

Unconditional = (
    Collect
    | BuildBatch
    | ComputeAdvantages
    | MakeItems
    | FilterPairs
    | Update
    | ReplayUpdate
    | FitRewards
    | UpdateReference
    | InjectText
    | WeighArtifacts
    | ReplaceTexts
    | RewriteText
    | EvolveTexts
    | InnerRun
    | SampleGeneration
    | QuestionJudge
    | UpdateGenome
)
"""The classes of such steps."""
UnconditionalStep = Annotated[Unconditional, choice()]
"""One step of a cycle, without a condition."""


class Conditional(Step):
    """A step that is sometimes taken; it needs what that step needs, and gives nothing for sure."""

    step: Any

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self.step.needs)

    @property
    def roles_asked(self) -> tuple[str, ...]:
        return tuple(self.step.roles_asked)

    @property
    def heads_asked(self) -> tuple[str, ...]:
        return tuple(self.step.heads_asked)

    @property
    def needs_reference(self) -> bool:
        return bool(self.step.needs_reference)

    @property
    def moves(self) -> bool:  # type: ignore[override]  # it depends on the step
        return bool(self.step.moves)

    @property
    def moves_reference(self) -> bool:  # type: ignore[override]  # it depends on the step
        return bool(self.step.moves_reference)


@config
class Every(Conditional):
    """Takes a step in every so manieth update."""

    name: Literal["every"] = "every"
    updates: Annotated[int, whole(1)]
    """Updates from one time to the next."""
    first: Annotated[int, whole(0)] = 0
    """The first update in which it is taken, counted from 0."""
    step: UnconditionalStep

    def __call__(self, ctx: UpdateContext) -> None:
        since = ctx.step - self.first
        if since >= 0 and since % self.updates == 0:
            self.step(ctx)

    def __str__(self) -> str:
        """Return it as tables show it."""
        since = f" from {self.first}" if self.first else ""
        return f"every {self.updates}{since}: {self.step}"


@config
class When(Conditional):
    """Takes a step where a number that earlier steps logged is high enough."""

    name: Literal["when"] = "when"
    metric: str
    """Name in the log, such as `items/pairs`; what was not logged counts as 0."""
    least: Annotated[float, real()]
    """Smallest value at which the step is taken."""
    step: UnconditionalStep

    def __call__(self, ctx: UpdateContext) -> None:
        if ctx.metrics.get(self.metric, 0.0) >= self.least:
            self.step(ctx)

    def __str__(self) -> str:
        """Return it as tables show it."""
        return f"when {self.metric} >= {self.least:g}: {self.step}"
