"""Reward modules and the ways to compose them.

Read `coevo.envs.core.rewards` first (what a module is), then any of those that reward: `shaping`
(how a reply is written), `verified` and `majority` (its answer), `interaction` (what peers say of
it), `payoff`, `token_cost`, `win_rate` (comparisons with other episodes), and the longer
`progress`, `semantic` and `tools`. `compose` joins them.
"""

from coevo.envs.core.rewards import (
    REWARDS,
    Reward,
    RewardModule,
    RewardModules,
    Rewards,
    reward_modules,
)
from coevo.envs.rewards.compose import GatedReward, WeightedSum
from coevo.envs.rewards.formula import FormulaReward, NotedReward
from coevo.envs.rewards.interaction import InteractionReward
from coevo.envs.rewards.majority import MajorityReward
from coevo.envs.rewards.payoff import PayoffReward
from coevo.envs.rewards.progress import ProgressReward
from coevo.envs.rewards.regret import RegretReward
from coevo.envs.rewards.semantic import SemanticReward
from coevo.envs.rewards.shaping import FormatReward, LengthPenalty, OverlongPenalty
from coevo.envs.rewards.token_cost import TokenCost
from coevo.envs.rewards.tools import ToolReward
from coevo.envs.rewards.verified import MarginReward, QualityReward, VerifierReward
from coevo.envs.rewards.win_rate import Higher, Odds, WinRate

REWARDS |= {
    "format": FormatReward,
    "formula": FormulaReward,
    "gated": GatedReward,
    "interaction": InteractionReward,
    "length": LengthPenalty,
    "majority": MajorityReward,
    "margin": MarginReward,
    "noted": NotedReward,
    "overlong": OverlongPenalty,
    "payoff": PayoffReward,
    "progress": ProgressReward,
    "quality": QualityReward,
    "regret": RegretReward,
    "semantic": SemanticReward,
    "sum": WeightedSum,
    "token_cost": TokenCost,
    "toolrl": ToolReward,
    "verifier": VerifierReward,
    "win_rate": WinRate,
}

__all__ = [
    "REWARDS",
    "FormatReward",
    "FormulaReward",
    "GatedReward",
    "Higher",
    "InteractionReward",
    "LengthPenalty",
    "MajorityReward",
    "MarginReward",
    "NotedReward",
    "Odds",
    "OverlongPenalty",
    "PayoffReward",
    "ProgressReward",
    "QualityReward",
    "RegretReward",
    "Reward",
    "RewardModule",
    "RewardModules",
    "Rewards",
    "SemanticReward",
    "TokenCost",
    "ToolReward",
    "VerifierReward",
    "WeightedSum",
    "WinRate",
    "reward_modules",
]
