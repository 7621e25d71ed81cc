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
from coevo.envs.rewards.compose import Gated, WeightedSum
from coevo.envs.rewards.formula import Formula, Noted
from coevo.envs.rewards.interaction import Interaction
from coevo.envs.rewards.majority import Majority
from coevo.envs.rewards.payoff import SharedPayoff
from coevo.envs.rewards.progress import Progress
from coevo.envs.rewards.regret import Regret
from coevo.envs.rewards.semantic import Semantic
from coevo.envs.rewards.shaping import Format, LengthPenalty, OverlongPenalty
from coevo.envs.rewards.token_cost import TokenCost
from coevo.envs.rewards.tools import ToolCalls
from coevo.envs.rewards.verified import Margin, Quality, Verifier
from coevo.envs.rewards.win_rate import Higher, Odds, WinRate

REWARDS |= {
    kind.name: kind
    for kind in (
        Format,
        Formula,
        Gated,
        Interaction,
        LengthPenalty,
        Majority,
        Margin,
        Noted,
        OverlongPenalty,
        SharedPayoff,
        Progress,
        Quality,
        Regret,
        Semantic,
        WeightedSum,
        TokenCost,
        ToolCalls,
        Verifier,
        WinRate,
    )
}

__all__ = [
    "REWARDS",
    "Format",
    "Formula",
    "Gated",
    "Higher",
    "Interaction",
    "LengthPenalty",
    "Majority",
    "Margin",
    "Noted",
    "Odds",
    "OverlongPenalty",
    "Progress",
    "Quality",
    "Regret",
    "Reward",
    "RewardModule",
    "RewardModules",
    "Rewards",
    "Semantic",
    "SharedPayoff",
    "TokenCost",
    "ToolCalls",
    "Verifier",
    "WeightedSum",
    "WinRate",
    "reward_modules",
]
