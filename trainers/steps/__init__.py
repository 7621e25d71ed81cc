"""The steps that cycles are made of; `coevo.trainers.cycle` says what a step is."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from coevo.envs.core.config import choice, config, real, whole
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.steps.challenge import Challenge
from coevo.trainers.steps.correct import Correct
from coevo.trainers.steps.demonstrate import Demonstrate
from coevo.trainers.steps.diversity import MeasureDiversity
from coevo.trainers.steps.evolve_front import EvolveFront
from coevo.trainers.steps.evolve_programs import DrawParents, KeepPrograms
from coevo.trainers.steps.filter_pairs import FilterPairs
from coevo.trainers.steps.generations import SampleGeneration, UpdateGenome
from coevo.trainers.steps.genomes import BreedGeneration, SelectGenomes
from coevo.trainers.steps.guide import Guide
from coevo.trainers.steps.inner_run import InnerRun
from coevo.trainers.steps.inverse_soft_q import InverseSoftQ
from coevo.trainers.steps.judge_items import Certified, Questions, Verdicts
from coevo.trainers.steps.make_items import (
    Best,
    MakeItems,
    Pairs,
    Replies,
    RestoreStart,
    UpdateReference,
    Worst,
)
from coevo.trainers.steps.mark_turns import MarkTurns
from coevo.trainers.steps.policy_gradient import (
    BuildBatch,
    Collect,
    ComputeAdvantages,
    FitRewards,
    ReplayUpdate,
    Update,
)
from coevo.trainers.steps.question_judge import Cached, Preferences, QuestionJudge
from coevo.trainers.steps.show_parents import ShowParents
from coevo.trainers.steps.solve_meta import SolveMeta
from coevo.trainers.steps.texts import (
    EvolveTexts,
    InjectText,
    ReplaceTexts,
    RewriteText,
    WeighArtifacts,
)
from coevo.trainers.steps.trace_front import TraceFront
from coevo.trainers.steps.tune_rewards import TuneRewards
from coevo.trainers.steps.values import Explore, FitValues
from coevo.trainers.steps.write_policy import WritePolicy

Unconditional = (
    Collect
    | Demonstrate
    | Correct
    | BuildBatch
    | ComputeAdvantages
    | Guide
    | MakeItems
    | FilterPairs
    | Update
    | ReplayUpdate
    | FitRewards
    | MeasureDiversity
    | MarkTurns
    | UpdateReference
    | RestoreStart
    | InjectText
    | WeighArtifacts
    | ReplaceTexts
    | RewriteText
    | EvolveTexts
    | InnerRun
    | TuneRewards
    | TraceFront
    | SampleGeneration
    | QuestionJudge
    | SolveMeta
    | UpdateGenome
    | BreedGeneration
    | SelectGenomes
    | Explore
    | FitValues
    | Challenge
    | EvolveFront
    | WritePolicy
    | DrawParents
    | KeepPrograms
    | InverseSoftQ
    | ShowParents
)
"""The classes of such steps."""
UnconditionalStep = Annotated[Unconditional, choice()]


class Conditional(Step):
    """A step that is sometimes taken; it needs what that step needs, and gives nothing for sure."""

    step: Any

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self.step.needs)

    @property
    def marks(self) -> tuple[str, ...]:
        return tuple(self.step.marks)

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
        since = f" from {self.first}" if self.first else ""
        return f"every {self.updates}{since}: {self.step}"


@config
class When(Conditional):
    """Takes a step where a number that earlier steps logged lies within bounds."""

    name: Literal["when"] = "when"
    metric: str
    """Name in the log, such as `items/pairs`; what was not logged counts as 0."""
    least: Annotated[float, real()] | None = None
    """Smallest value at which the step is taken; None for any."""
    most: Annotated[float, real()] | None = None
    """Largest value."""
    step: UnconditionalStep

    def __call__(self, ctx: UpdateContext) -> None:
        found = ctx.metrics.get(self.metric, 0.0)
        if self.least is not None and found < self.least:
            return
        if self.most is None or found <= self.most:
            self.step(ctx)

    def __str__(self) -> str:
        least = "" if self.least is None else f" >= {self.least:g}"
        most = "" if self.most is None else f" <= {self.most:g}"
        return f"when {self.metric}{least}{most}: {self.step}"


AnyStep = Annotated[Unconditional | Every | When, choice(Step)]
"""One step of a cycle: a component, its bare name, or a step of one's own as an object."""

POLICY_GRADIENT: tuple[AnyStep, ...] = (
    Collect(),
    BuildBatch(),
    ComputeAdvantages(),
    Update(),
    ReplayUpdate(),
    FitRewards(),
)
GIVERS = {
    "episodes": "collect",
    "batch": "build_batch",
    "advantages": "compute_advantages",
    "pairs": "make_items(pairs)",
    "demonstrations": "make_items(best)",
    "failures": "make_items(worst)",
    "texts": "inject_text",
    "reward_pairs": "make_items(certified)",
    "questions": "make_items(questions)",
    "reward_targets": "make_items(verdicts)",
    "parents": "draw_parents",
    "generation": "sample_generation or breed_generation",
}
"""What is given -> by which step."""
