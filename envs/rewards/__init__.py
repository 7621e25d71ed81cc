"""Reward modules and the ways to compose them.

Read `module` first (what a module is), then any of those that pay: `shaping` (how a reply is
written), `verified` and `majority` (its answer), `interaction` (what peers say of it), `payoff`,
`token_cost`, and the longer `progress`, `semantic` and `tools`. `compose` joins them, `paying`
applies them, `table` names them.
"""

from coevo.envs.rewards.compose import Gate, WeightedSum
from coevo.envs.rewards.interaction import InteractionReward
from coevo.envs.rewards.majority import MajorityReward
from coevo.envs.rewards.module import Payments, RewardModule
from coevo.envs.rewards.paying import UnpaidWarning
from coevo.envs.rewards.payoff import PayoffReward
from coevo.envs.rewards.progress import ProgressReward
from coevo.envs.rewards.semantic import SemanticReward
from coevo.envs.rewards.shaping import FormatReward, LengthPenalty, OverlongPenalty
from coevo.envs.rewards.table import REWARDS, reward
from coevo.envs.rewards.token_cost import TokenCost
from coevo.envs.rewards.tools import ToolReward
from coevo.envs.rewards.verified import MarginReward, QualityReward, VerifierReward

__all__ = [
    "REWARDS",
    "FormatReward",
    "Gate",
    "InteractionReward",
    "LengthPenalty",
    "MajorityReward",
    "MarginReward",
    "OverlongPenalty",
    "Payments",
    "PayoffReward",
    "ProgressReward",
    "QualityReward",
    "RewardModule",
    "SemanticReward",
    "TokenCost",
    "ToolReward",
    "UnpaidWarning",
    "VerifierReward",
    "WeightedSum",
    "reward",
]
