"""Reward modules and the ways to compose them.

Read `coevo.envs.core.rewards` first (what a module is), then any of those that reward: `shaping`
(how a reply is written), `verified`, `majority` and `majority_novelty` (its answer), `interaction`
(what peers say of it), `payoff`, `token_cost`, `mode_cost`, `win_rate` (comparisons with other
episodes), `exploration_bonus` (what was not read before), and the longer `progress`, `semantic` and
`tools`. `compose` joins them. What is imported here is exported, and a module with a name can be
named in configurations.
"""

from inspect import isclass, ismodule

from coevo.envs.core.rewards import (
    REWARDS,
    Reward,
    RewardModule,
    RewardModules,
    Rewards,
    reward_modules,
)
from coevo.envs.rewards.compose import Gated, WeightedSum
from coevo.envs.rewards.exploration_bonus import ExplorationBonus
from coevo.envs.rewards.formula import Formula, Noted
from coevo.envs.rewards.interaction import Interaction
from coevo.envs.rewards.majority import Majority
from coevo.envs.rewards.majority_novelty import MajorityNovelty
from coevo.envs.rewards.mode_cost import ModeCost
from coevo.envs.rewards.mutual_welfare import MutualWelfare
from coevo.envs.rewards.payoff import SharedPayoff
from coevo.envs.rewards.progress import Progress
from coevo.envs.rewards.regret import Regret
from coevo.envs.rewards.semantic import Semantic
from coevo.envs.rewards.shaping import Format, LengthPenalty, OverlongPenalty
from coevo.envs.rewards.token_cost import TokenCost
from coevo.envs.rewards.tools import ToolCalls
from coevo.envs.rewards.verified import Margin, Quality, Verifier
from coevo.envs.rewards.win_rate import Higher, Odds, WinRate
from coevo.envs.rewards.written import Written

_OWN = {n: value for n, value in vars().items() if n[0] != "_" and not ismodule(value)}
_MODULES = [kind for kind in _OWN.values() if isclass(kind) and issubclass(kind, RewardModule)]
__all__ = sorted(_OWN.keys() - {"isclass", "ismodule"})
REWARDS |= {kind.name: kind for kind in _MODULES if kind.name}
