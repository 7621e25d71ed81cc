"""A clerk of `coevo/service_desk-v0` that does what it remembers to have satisfied."""

from __future__ import annotations

import numpy as np

from coevo.agents.agent import Request
from coevo.agents.scripted import MoveAgent
from coevo.envs.core.errors import ConfigError

DESK = "coevo/service_desk-v0"


class MemoryFollower(MoveAgent):
    """Takes the decision with the best remembered success; follows the policy until it knows both.

    Success of a decision is (satisfied + 1) / (cases + 1).
    """

    name = "memory_follower"

    def odds(self, request: Request) -> np.ndarray:
        info, legal = request.info, request.info["legal_actions"]
        if "memory" not in info:
            raise ConfigError(f"{self.name} plays {DESK} only")
        if not all(cases for _, cases in info["memory"].values()) or not info["memory"]:
            granted = "refund" if info["days"] <= 30 and info["receipt"] else "refuse"
            return np.array([float(move == granted) for move in legal])
        worth = np.array([(happy + 1) / (n + 1) for happy, n in map(info["memory"].get, legal)])
        best = worth == worth.max()
        return best / best.sum()
