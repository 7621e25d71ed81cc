"""The steps that cycles are made of, a file each; `coevo.trainers.cycle` says what a step is."""

from typing import Annotated

from coevo.envs.core.config import choice
from coevo.trainers.cycle import Step
from coevo.trainers.steps.conditions import Every, Unconditional, When
from coevo.trainers.steps.evolve_texts import EvolveTexts
from coevo.trainers.steps.filter_pairs import FilterPairs
from coevo.trainers.steps.fit_rewards import FitRewards
from coevo.trainers.steps.inject_text import InjectText
from coevo.trainers.steps.inner_run import InnerRun
from coevo.trainers.steps.judge_items import Certified, Questions, Verdicts
from coevo.trainers.steps.make_items import Best, MakeItems, Pairs, Worst
from coevo.trainers.steps.policy_gradient import (
    BuildBatch,
    Collect,
    ComputeAdvantages,
    ReplayUpdate,
    Update,
)
from coevo.trainers.steps.question_judge import Cached, Preferences, QuestionJudge
from coevo.trainers.steps.replace_texts import ReplaceTexts
from coevo.trainers.steps.rewrite_text import RewriteText
from coevo.trainers.steps.sample_generation import SampleGeneration
from coevo.trainers.steps.update_genome import UpdateGenome
from coevo.trainers.steps.update_reference import UpdateReference
from coevo.trainers.steps.weigh_artifacts import WeighArtifacts

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
"""The cycle of policy-gradient algorithms."""
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
    "generation": "sample_generation",
}
"""What is given -> by which step."""

__all__ = [
    "GIVERS",
    "POLICY_GRADIENT",
    "AnyStep",
    "Best",
    "BuildBatch",
    "Cached",
    "Certified",
    "Collect",
    "ComputeAdvantages",
    "Every",
    "EvolveTexts",
    "FilterPairs",
    "FitRewards",
    "InjectText",
    "InnerRun",
    "MakeItems",
    "Pairs",
    "Preferences",
    "QuestionJudge",
    "Questions",
    "ReplaceTexts",
    "ReplayUpdate",
    "RewriteText",
    "SampleGeneration",
    "Step",
    "Update",
    "UpdateGenome",
    "UpdateReference",
    "Verdicts",
    "WeighArtifacts",
    "When",
    "Worst",
]
