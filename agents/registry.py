"""The agents that need no model, by name.

`coevo.agents.load.load_agent` knows these names and those of models; the single-agent views of the
environments (`opponents="random"`) know these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from coevo.agents.agent import Agent, answered, request_of, sealed_rng
from coevo.agents.human import HumanAgent
from coevo.agents.program import ProgramAgent
from coevo.agents.scripted import FirstLegalAgent, RandomAgent
from coevo.agents.strategies.conventions import ConventionAgent
from coevo.agents.strategies.expert import ExpertAgent
from coevo.agents.strategies.grid_players import GRID_PLAYERS
from coevo.agents.strategies.iterated import LEARNERS, STRATEGIES, drawn_memory_one
from coevo.agents.strategies.mcts import Mcts
from coevo.agents.strategies.memory import MemoryFollower
from coevo.agents.strategies.norms import NormFollower
from coevo.agents.strategies.oracle import OracleAgent
from coevo.agents.strategies.saboteur import Saboteur
from coevo.agents.strategies.split import SPLIT_STRATEGIES
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.opponents import Opponent

SCRIPTED: dict[str, Callable[[], Agent]] = {
    "random": RandomAgent,
    "first_legal": FirstLegalAgent,
    "oracle": OracleAgent,
    "expert": ExpertAgent,
    "human": HumanAgent,
    **STRATEGIES,
    **LEARNERS,
    **SPLIT_STRATEGIES,
    "norm_follower": NormFollower,
    **GRID_PLAYERS,
    "memory_follower": MemoryFollower,
    "mcts": Mcts,
    "saboteur": Saboteur,
}
WITH_ARGUMENT: dict[str, tuple[str, Callable[[str], Agent]]] = {
    "expert": ("SKILL", lambda skill: ExpertAgent(float(skill))),
    "memory_one": ("NUMBER", drawn_memory_one),
    "mcts": ("EXPANSIONS", lambda expansions: Mcts(int(expansions))),
    "convention": ("RANK", lambda rank: ConventionAgent(int(rank))),
    "program": ("FILE.py", ProgramAgent),
}
"""What may stand before a colon -> what stands behind it, and how the agent is made from that."""


def is_scripted(name: str) -> bool:
    """Return whether a name needs no model."""
    return name in SCRIPTED or (":" in name and name.partition(":")[0] in WITH_ARGUMENT)


def scripted(name: str, what: str = "agent") -> Agent:
    """Make an agent that needs no model.

    >>> scripted("expert:0.5").name, scripted("convention:2").name
    ('expert:0.5', 'convention:2')
    """
    if name in SCRIPTED:
        return SCRIPTED[name]()
    kind, colon, argument = name.partition(":")
    if not colon or kind not in WITH_ARGUMENT:
        raise unknown(what, name, names())
    try:
        return WITH_ARGUMENT[kind][1](argument)
    except ConfigError as error:
        raise ConfigError(f"{name!r}: {error}") from None
    except ValueError:
        raise ConfigError(f"{name!r}: {argument!r} is not a number") from None


def check_scripted(setting: str, given: Iterable[str]) -> None:
    """Refuse agents that need no model and cannot be made.

    >>> check_scripted("members", ["openai:m", "expert:9"])
    Traceback (most recent call last):
    coevo.envs.core.errors.ConfigError: members: 'expert:9': skill=9.0 must lie in 0..1; the \
nearest is 1
    """
    for name in filter(is_scripted, given):
        try:
            scripted(name)
        except ConfigError as error:
            raise ConfigError(f"{setting}: {error}") from None


def names() -> list[str]:
    return [*SCRIPTED, *(f"{kind}:{argument}" for kind, (argument, _) in WITH_ARGUMENT.items())]


def as_opponent(agent: Agent) -> Opponent:
    """Let an agent play the other seats of a single-agent view, asked one request at a time."""
    own = sealed_rng(agent.name)

    def reply(env: TextEnv, seat: str, rng: np.random.Generator) -> str:
        given = rng if agent.insider else own
        asked = request_of(env, seat, given, inside=agent.insider, numbers=agent.reads_numbers)
        return answered(agent.act([asked])[0]).text

    return reply


def named_opponent(name: str) -> Opponent:
    return as_opponent(scripted(name, "opponent"))
