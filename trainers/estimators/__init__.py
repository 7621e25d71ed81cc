"""Advantages and losses: typed components, and pure functions over them.

Read `trajectories` (what comes in), `advantage` (compose, credit, baseline, normalise, transform)
and `loss` (surrogate, correction, regularisers, aggregation). A component's parameters are fields
with ranges; calling it computes its formula. The components of one kind form a union that stands
beside them, such as `Credit`, and `advantage.credit={name: gae, lam: 0.95}` chooses one.
"""

from coevo.trainers.estimators.advantage import (
    AdvantageConfig,
    Advantages,
    advantage_table,
    advantages,
)
from coevo.trainers.estimators.aggregate import (
    Aggregation,
    ConstantMean,
    Denominators,
    SeqMeanTokenMean,
    SeqMeanTokenSum,
    SumNorm,
    TokenMean,
    count,
)
from coevo.trainers.estimators.baseline import (
    AgentMean,
    Baseline,
    BatchMean,
    ConstantBaseline,
    DistinctMean,
    GreedyBaseline,
    GroupMean,
    LeaveOneOut,
    LogMeanExp,
    NoBaseline,
    SeatEma,
)
from coevo.trainers.estimators.broadcast import expand_rows, expand_turns
from coevo.trainers.estimators.component import AdvantageComponent, LossComponent, Term
from coevo.trainers.estimators.compose import (
    Composition,
    Decoupled,
    Gated,
    Tiered,
    WeightedSum,
)
from coevo.trainers.estimators.credit import Ads, Credit, MarsCode, Outcome, ToGo
from coevo.trainers.estimators.critic_credit import Gae, TdCritic, gae_recursion
from coevo.trainers.estimators.entropy import (
    AdaptiveEntropy,
    Entropy,
    Nll,
    exact_entropy,
)
from coevo.trainers.estimators.epo import Epo
from coevo.trainers.estimators.frame import Frame, Weights
from coevo.trainers.estimators.groups import GroupStats, group_stats
from coevo.trainers.estimators.hapo import Hapo
from coevo.trainers.estimators.inputs import LossInputs, from_tokens
from coevo.trainers.estimators.is_correction import (
    Correction,
    IsCorrection,
    TokenMis,
    TokenTis,
)
from coevo.trainers.estimators.kl import (
    ConvexKl,
    Kl,
    KlCov,
    MagnetKl,
    exact_kl,
    kl_term,
)
from coevo.trainers.estimators.loss import (
    LossConfig,
    LossOut,
    Regulariser,
    Surrogate,
    batch_statistics,
    control,
    kept_mask,
    policy_loss,
)
from coevo.trainers.estimators.loss_stats import merge_stats
from coevo.trainers.estimators.normalise import (
    AgentStd,
    BatchStd,
    BetaPdf,
    GroupStd,
    NoNormalisation,
    Normalisation,
    TokenStd,
)
from coevo.trainers.estimators.parts import Parts
from coevo.trainers.estimators.ratio import (
    RatioLevel,
    SeqGeoRatio,
    SeqProdRatio,
    TokenRatio,
    TurnRatio,
)
from coevo.trainers.estimators.rewards import Credited, Rewards, kl_in_reward
from coevo.trainers.estimators.surrogate_clip import (
    Cispo,
    DualClip,
    Gmpo,
    PolicyGradient,
    PpoClip,
    Preclip,
    Sapo,
    SurrogateLoss,
    Unclipped,
)
from coevo.trainers.estimators.surrogate_offpolicy import Opmd, Rec, RemixClip, Topr
from coevo.trainers.estimators.table import AdvantageTable
from coevo.trainers.estimators.table_credit import TdTable
from coevo.trainers.estimators.token_masks import ClipCov, TokenMask
from coevo.trainers.estimators.trajectories import Trajectories, from_lists
from coevo.trainers.estimators.transform import (
    BatchWhiten,
    ClipAdvantage,
    ExpWeight,
    FilterSigma,
    Shift,
    TokenWhiten,
    Transform,
)
from coevo.trainers.estimators.transform_groups import (
    ActiveShare,
    AddTree,
    BlendGlobal,
    CompareEpisodes,
    GrpoFallback,
    Sharpen,
    WeighPrompts,
)
from coevo.trainers.estimators.transform_rows import BestOfGroup, DropNegatives, PairGate, ShareSet
from coevo.trainers.estimators.transform_turns import AddStateGroup, Align, MergeEdges, SumOthers
from coevo.trainers.estimators.value import value_loss
