"""The table of reward modules that the command line and configuration files name."""

from __future__ import annotations

from typing import Any

from coevo.envs.core.errors import ConfigError, arguments_of, check_arguments, unknown
from coevo.envs.rewards.interaction import InteractionReward
from coevo.envs.rewards.majority import MajorityReward
from coevo.envs.rewards.module import RewardModule
from coevo.envs.rewards.payoff import PayoffReward
from coevo.envs.rewards.progress import ProgressReward
from coevo.envs.rewards.semantic import SemanticReward
from coevo.envs.rewards.shaping import FormatReward, LengthPenalty, OverlongPenalty
from coevo.envs.rewards.token_cost import TokenCost
from coevo.envs.rewards.tools import ToolReward
from coevo.envs.rewards.verified import MarginReward, QualityReward, VerifierReward

REWARDS: dict[str, type[RewardModule]] = {
    "format": FormatReward,
    "interaction": InteractionReward,
    "length": LengthPenalty,
    "majority": MajorityReward,
    "margin": MarginReward,
    "overlong": OverlongPenalty,
    "payoff": PayoffReward,
    "progress": ProgressReward,
    "quality": QualityReward,
    "semantic": SemanticReward,
    "token_cost": TokenCost,
    "toolrl": ToolReward,
    "verifier": VerifierReward,
}
"""Reward modules by name. A package that brings others adds them here."""


def reward(name: str, **params: Any) -> RewardModule:
    """Make a reward module by name.

    Args:
        name: a key of `REWARDS`.
        **params: arguments of the module.

    Raises:
        UnknownNameError: no such module; the nearest names are listed.
        ConfigError: the module takes no such argument; the arguments it takes are listed. Or
            it cannot be made with this one.

    >>> reward("format", legal=0.1).range
    (0.0, 0.1)
    """
    if name not in REWARDS:
        raise unknown("reward module", name, REWARDS)
    made = REWARDS[name]
    check_arguments(f"reward module {name!r}", params, arguments_of(made))
    try:
        return made(**params)
    except TypeError as error:
        raise ConfigError(f"reward module {name!r} with {params}: {error}") from None
