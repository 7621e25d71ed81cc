"""Who acts: scripted players, oracles, language models, people.

Importing this package adds its players to the opponents of `gymnasium.make`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coevo.agents.agent import Agent, Reply, Request
from coevo.agents.human import HumanAgent
from coevo.agents.oracle import OracleAgent
from coevo.agents.scripted import SCRIPTED, FirstLegalAgent, FixedTextAgent, RandomAgent
from coevo.agents.split_strategies import SPLIT_STRATEGIES
from coevo.agents.strategies import STRATEGIES
from coevo.agents.tutor import TutorAgent
from coevo.agents.unanswered import answered
from coevo.envs.core.chat import Chat
from coevo.envs.core.opponents import Opponent, register_opponent

__all__ = [
    "Agent",
    "FirstLegalAgent",
    "FixedTextAgent",
    "HumanAgent",
    "OracleAgent",
    "RandomAgent",
    "Reply",
    "Request",
    "TutorAgent",
    "as_opponent",
]


def as_opponent(agent: Agent) -> Opponent:
    """Let an agent play the other seats of the single-agent view.

    Args:
        agent: any agent; it is asked one request at a time.
    """

    def reply(chat: Chat, info: Mapping[str, Any], rng: np.random.Generator) -> str:
        request = Request(str(info.get("seat", "opponent")), chat, info, rng)
        return answered(agent.act([request])[0]).text

    return reply


SCRIPTED.update(oracle=OracleAgent, tutor=TutorAgent, human=HumanAgent)
register_opponent("oracle", as_opponent(OracleAgent()))
register_opponent("tutor", as_opponent(TutorAgent()))
SCRIPTED.update(STRATEGIES | SPLIT_STRATEGIES)
for _name, _make in (STRATEGIES | SPLIT_STRATEGIES).items():
    register_opponent(_name, as_opponent(_make()))
