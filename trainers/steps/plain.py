"""Steps without a condition, which `Every` and `When` may hold."""

from typing import Annotated

from coevo.envs.core.config import choice
from coevo.trainers.steps.build_batch import BuildBatch
from coevo.trainers.steps.collect import Collect
from coevo.trainers.steps.compute_advantages import ComputeAdvantages
from coevo.trainers.steps.evolve_texts import EvolveTexts
from coevo.trainers.steps.filter_pairs import FilterPairs
from coevo.trainers.steps.fit_rewards import FitRewards
from coevo.trainers.steps.inject_text import InjectText
from coevo.trainers.steps.inner_run import InnerRun
from coevo.trainers.steps.make_items import MakeItems
from coevo.trainers.steps.question_judge import QuestionJudge
from coevo.trainers.steps.replace_texts import ReplaceTexts
from coevo.trainers.steps.replay_update import ReplayUpdate
from coevo.trainers.steps.rewrite_text import RewriteText
from coevo.trainers.steps.sample_generation import SampleGeneration
from coevo.trainers.steps.update import Update
from coevo.trainers.steps.update_genome import UpdateGenome
from coevo.trainers.steps.update_reference import UpdateReference
from coevo.trainers.steps.weigh_artifacts import WeighArtifacts

Plain = (
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
PlainStep = Annotated[Plain, choice()]
"""One step of a cycle, without a condition."""
