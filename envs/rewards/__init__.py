"""Reward modules and the ways to compose them."""

from coevo.envs.rewards.compose import Gate, WeightedSum
from coevo.envs.rewards.module import Payments, RewardModule
from coevo.envs.rewards.shaping import FormatReward, LengthPenalty
from coevo.envs.rewards.table import REWARDS, reward

__all__ = [
    "REWARDS",
    "FormatReward",
    "Gate",
    "LengthPenalty",
    "Payments",
    "RewardModule",
    "WeightedSum",
    "reward",
]
