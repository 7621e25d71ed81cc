"""Everything that an algorithm is made of, in one namespace.

>>> from coevo.trainers import parts as p
>>> p.AdvantageConfig(baseline=p.LeaveOneOut()).baseline.name
'leave_one_out'
"""
# ruff: noqa: F401, F403

from coevo.agents.population import (
    Adapters,
    ByRole,
    Grouped,
    MetaStrategy,
    PastSelves,
    Prioritised,
    Separate,
    Shared,
)
from coevo.envs.rewards import (
    ExplorationBonus,
    Format,
    Interaction,
    Majority,
    MajorityNovelty,
    ModeCost,
    MutualWelfare,
    OverlongPenalty,
    Progress,
    Regret,
    Semantic,
    TokenCost,
    ToolCalls,
    Verifier,
    WinRate,
)
from coevo.trainers.advantage import AdvantageConfig
from coevo.trainers.algorithm import CHEAP, SMALL, Algorithm, Published
from coevo.trainers.archive.evolution import Antithetic, CmaEs
from coevo.trainers.archive.genome import Entries, SingularValues
from coevo.trainers.archive.selectors import Grid, Islands, Novelty, Pareto, Truncation, even
from coevo.trainers.archive.sharing import ByGame, Deal, Nearest, Softmax
from coevo.trainers.collect.beginnings import Forced, Hint
from coevo.trainers.collect.collect_config import CollectConfig
from coevo.trainers.collect.trees import Trees
from coevo.trainers.components import *
from coevo.trainers.judges.judge import Judge
from coevo.trainers.judges.latent_preference import LatentPreference
from coevo.trainers.judges.message_labels import MessageLabels
from coevo.trainers.judges.policy_discriminator import PolicyDiscriminator
from coevo.trainers.judges.reward_model import RewardModel
from coevo.trainers.judges.roles import JudgeRole
from coevo.trainers.judges.rubric import Rubric
from coevo.trainers.judges.tournament import Tournament
from coevo.trainers.learners.settings import (
    EmaMagnet,
    OptimConfig,
    SnapshotMagnet,
    UtteranceCritic,
    ValueCritic,
)
from coevo.trainers.loss import LossConfig
from coevo.trainers.losses import *
from coevo.trainers.samplers.allocate import Knapsack, Vade, Xrpo
from coevo.trainers.samplers.controlled import Controlled
from coevo.trainers.samplers.curriculum import Drawn
from coevo.trainers.samplers.evolve import Evolve
from coevo.trainers.samplers.explored import Explored
from coevo.trainers.samplers.predicted import Predicted
from coevo.trainers.samplers.replay import RemixReplay, SpearReplay
from coevo.trainers.samplers.selection import KeepDynamic
from coevo.trainers.samplers.task_buffer import KeptTasks
from coevo.trainers.schedules import Cosine, Linear, Steps
from coevo.trainers.steps import POLICY_GRADIENT, AnyStep, Every, When
from coevo.trainers.steps.challenge import Challenge
from coevo.trainers.steps.correct import Correct
from coevo.trainers.steps.demonstrate import Demonstrate
from coevo.trainers.steps.diversity import MeasureDiversity
from coevo.trainers.steps.evolve_front import EvolveFront
from coevo.trainers.steps.evolve_programs import DrawParents, KeepPrograms
from coevo.trainers.steps.filter_pairs import FilterPairs
from coevo.trainers.steps.generations import SampleGeneration, UpdateGenome
from coevo.trainers.steps.genomes import BreedGeneration, SelectGenomes
from coevo.trainers.steps.guide import Advise, Examples, Guide, Solution
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
from coevo.trainers.steps.mark_turns import ByJudge, ByNote, MarkTurns
from coevo.trainers.steps.mutators import Identity, RandomEdit, RewriteProgram
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
from coevo.trainers.steps.write_policy import RewritePolicy, WritePolicy
from coevo.trainers.steps.writers import Distil
from coevo.trainers.values.mixers import NoMix, Qmix, Vdn
from coevo.trainers.values.switching import Switch
