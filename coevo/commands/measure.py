"""Measurements around a training run: the table before and after, and the probe between."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pyspiel
import torch

from coevo.agents.agent import Agent
from coevo.agents.models.seated import one_agent
from coevo.agents.policy import Policy
from coevo.agents.policy_maker import PolicyMaker
from coevo.agents.strategies.game_tree import game_tree
from coevo.benchmarks.evaluate import standard_table
from coevo.benchmarks.exact import exploitability
from coevo.envs import make
from coevo.envs.core.errors import CoevoError
from coevo.envs.games.openspiel import OpenSpielTask
from coevo.trainers.config import TrainConfig
from coevo.trainers.seating import net_shape

PROBED_STATES = 1000
"""Most information states of a game whose exploitability is followed during training."""
OFTEN = 100
"""Most information states of a game that is measured every time."""
SELDOM = 5
"""Of how many times a larger one is measured once. Time decides nothing: a resumed run measures
what one that ran through did."""
COSTLY = 10.0
"""Seconds of a measurement that are worth a word."""


def start_agent(config: TrainConfig, *, trust_remote_code: bool = False) -> Policy:
    if config.threads:
        torch.set_num_threads(config.threads)
    maker = PolicyMaker(
        config.model,
        sampling=config.sampling,
        seed=config.seed,
        device=config.device,
        trust_remote_code=trust_remote_code,
        shape=lambda: net_shape(config),
    )
    return maker("start")


def table(agent: Agent, start: Agent, config: TrainConfig, games: int) -> dict[str, Any]:
    """Measure an agent in the environment of a run, or in every one, whose ids then come first."""
    seed = config.seed
    players = agent.reseeded(seed), start.reseeded(seed)
    found = {
        id: standard_table(players[0], id, players[1], games, seed, own.options)
        for id, own in config.environments.items()
    }
    if len(found) == 1:
        return next(iter(found.values()))
    return {f"{id}/{name}": value for id, own in found.items() for name, value in own.items()}


class ExploitabilityProbe:
    """Follows the exploitability of a run where that is cheap, and else measures nothing.

    Two-player poker-like games with small trees are followed, larger ones less often.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        given = config.environments.items()
        sizes = {id: information_states(id, own.options) for id, own in given}
        self.sizes = {id: size for id, size in sizes.items() if 0 < size <= PROBED_STATES}
        self._seconds = 0.0
        self._said = False

    def __call__(self, policies: Mapping[str, Agent]) -> dict[str, float]:
        """Measure the policies of a run, in a large game every now and then."""
        step = max((agent.version for agent in policies.values()), default=0)
        seldom = (step // self.config.probe_every) % SELDOM > 0
        agent, measured = one_agent(policies), dict[str, float]()
        began = time.monotonic()
        for id, size in self.sizes.items():
            if size > OFTEN and seldom:
                continue
            found = exploitability(agent, id, self.config.environments[id].options)
            before = "" if len(self.config.environments) == 1 else f"{id}/"
            if found.exploitability is not None and found.conditional is not None:
                measured[f"{before}exploitability"] = found.exploitability
                measured[f"{before}exploitability_if_legal"] = found.conditional
        self._seconds = time.monotonic() - began
        return measured

    def cost(self) -> str:
        """Return, once, what a measurement costs where that is much; else nothing."""
        if self._said or self._seconds < COSTLY:
            return ""
        self._said = True
        every = self.config.probe_every
        return (
            f"exploitability takes {self._seconds:.0f} s and is measured every {every} updates: "
            f"--set probe_every={5 * every} measures less often"
        )


def information_states(env_id: str, options: Mapping[str, Any]) -> int:
    """Return the size of a two-player game with hidden information and moves in turn; else 0."""
    env = make(env_id, **options)
    if not isinstance(env.task, OpenSpielTask) or len(env.possible_agents) != 2:
        return 0
    kind = env.task.game.get_type()
    sequential = kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
    if not sequential or kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION:
        return 0
    try:
        return len(game_tree(str(env.task.game)).decisions)
    except CoevoError:
        return 0
