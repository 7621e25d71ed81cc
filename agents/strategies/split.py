"""Scripted players of Trust-and-Split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from coevo.agents.agent import Agent, Request
from coevo.agents.scripted import MoveAgent
from coevo.agents.strategies.iterated import known
from coevo.envs.core.parsing import answer
from coevo.envs.core.task import Replies
from coevo.envs.dilemmas.experts import other_hand
from coevo.envs.dilemmas.split import beats

SPLIT = "coevo/trust_and_split-v0"


class SplitStrategy(MoveAgent):
    """A player of `coevo/trust_and_split-v0`."""

    def odds(self, request: Request) -> np.ndarray:
        info = known(self.name, request, SPLIT, "coins")
        claims = np.array([int(move) for move in request.info["legal_actions"]])
        nearest = np.abs(claims - self.wanted(info)).argmin()
        return np.eye(len(claims))[nearest]

    def wanted(self, info: Mapping[str, Any]) -> float:
        """Return how many coins the player wants to keep."""
        raise NotImplementedError(f"{type(self).__name__} must define wanted")  # abstract

    def speech(self, request: Request) -> Replies:
        info = known(self.name, request, SPLIT, "coins")
        legal = request.info["legal_actions"]
        if not legal:
            return Replies((f"<message>I have {info['hand']}.</message>",), np.ones(1))
        return Replies(tuple(map(answer, legal)), self.odds(request))


class Greedy(SplitStrategy):
    """Claims all coins, always."""

    name = "greedy"

    def wanted(self, info: Mapping[str, Any]) -> float:
        return float(info["coins"])


class WelfareMax(SplitStrategy):
    """Says its hand and leaves the coins to the seat that values them more; half in doubt."""

    name = "welfare_max"

    def wanted(self, info: Mapping[str, Any]) -> float:
        """Want everything with the upper hand and nothing with the lower one."""
        other = other_hand(info)
        if other is None:
            return info["coins"] / 2
        return float(info["coins"]) if beats(str(info["hand"]), other) else 0.0


SPLIT_STRATEGIES: dict[str, Callable[[], Agent]] = {"greedy": Greedy, "welfare_max": WelfareMax}
