"""Who acts: scripted agents, oracles, language models, people."""

from __future__ import annotations

from coevo.agents.agent import Agent, Reply, Request, request_of
from coevo.agents.human import HumanAgent
from coevo.agents.registry import SCRIPTED, as_opponent
from coevo.agents.scripted import FirstLegalAgent, FixedTextAgent, RandomAgent
from coevo.agents.strategies.expert import ExpertAgent
from coevo.agents.strategies.oracle import OracleAgent

__all__ = [
    "SCRIPTED",
    "Agent",
    "ExpertAgent",
    "FirstLegalAgent",
    "FixedTextAgent",
    "HumanAgent",
    "OracleAgent",
    "RandomAgent",
    "Reply",
    "Request",
    "as_opponent",
    "request_of",
]
