"""Reward modules and the ways to compose them."""

from coevo.envs.rewards.compose import Gate, WeightedSum
from coevo.envs.rewards.module import Payments, RewardModule
from coevo.envs.rewards.progress import ProgressReward
from coevo.envs.rewards.semantic import SemanticReward
from coevo.envs.rewards.shaping import FormatReward, LengthPenalty, OverlongPenalty
from coevo.envs.rewards.table import REWARDS, reward
from coevo.envs.rewards.tools import ToolReward

__all__ = [
    "REWARDS",
    "FormatReward",
    "Gate",
    "LengthPenalty",
    "OverlongPenalty",
    "Payments",
    "ProgressReward",
    "RewardModule",
    "SemanticReward",
    "ToolReward",
    "WeightedSum",
    "reward",
]
