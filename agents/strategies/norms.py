"""A villager of `coevo/commons_norms-v0` that lives by its norm, whatever becomes of the lake."""

from __future__ import annotations

import numpy as np

from coevo.agents.agent import Request
from coevo.agents.scripted import MoveAgent
from coevo.envs.core.errors import ConfigError

COMMONS = "coevo/commons_norms-v0"


class NormFollower(MoveAgent):
    """Fishes as long as its norm allows, punishes who fished longer, and imitates who has more."""

    name = "norm_follower"

    def odds(self, request: Request) -> np.ndarray:
        info, legal = request.info, request.info["legal_actions"]
        if "norm" not in info:
            raise ConfigError(f"{self.name} plays {COMMONS} only")
        choice = {
            "fish": str(info["norm"]),
            "punish": "punish" if (info["seen"] or 0) > info["norm"] else "let be",
            "learn": "adopt",
        }[info["phase"]]
        return np.array([float(move == choice) for move in legal])
