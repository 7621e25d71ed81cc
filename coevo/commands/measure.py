"""Measuring policies around a training run: the table before and after, and the probe between."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pyspiel
import torch

from coevo.agents.agent import Agent
from coevo.agents.game_tree import game_tree
from coevo.agents.policy import Policy
from coevo.agents.policy_maker import PolicyMaker
from coevo.agents.seated import one_agent
from coevo.benchmarks.evaluate import standard_table
from coevo.benchmarks.exploitability import exploitability
from coevo.envs import make
from coevo.envs.core.errors import CoevoError
from coevo.envs.games.openspiel import OpenSpielTask
from coevo.trainers.config import TrainConfig

PROBED_STATES = 1000
"""Most information states of a game whose exploitability is followed during training."""
PROBE_SHARE = 0.05
"""Share of the run's time that probing may take."""


def start_agent(config: TrainConfig, *, trust_remote_code: bool = False) -> Policy:
    """Load the model that a run starts from."""
    if config.threads:
        torch.set_num_threads(config.threads)
    maker = PolicyMaker(
        config.model,
        sampling=config.sampling,
        device=config.device,
        trust_remote_code=trust_remote_code,
    )
    return maker("start")


def table(agent: Agent, start: Agent, config: TrainConfig, games: int) -> dict[str, Any]:
    """Measure an agent in the environment of a run, or in every one, whose ids then come first.

    Args:
        agent: who is measured.
        start: the model that the run started from, as an opponent.
        config: of the run.
        games: episodes per opponent.
    """
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

    Args:
        config: of the run. Two-player poker-like games with small trees are followed; where a
            measurement is slow, some are left out.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        given = config.environments.items()
        self.small = {id: own.options for id, own in given if is_small(id, own.options)}
        self._began = time.monotonic()
        self._spent = 0.0

    def __call__(self, policies: Mapping[str, Agent]) -> dict[str, float]:
        """Measure the policies of a run, unless too much time went into that already."""
        now = time.monotonic()
        if not self.small or self._spent > PROBE_SHARE * (now - self._began):
            return {}
        agent, measured = one_agent(policies), dict[str, float]()
        for id, options in self.small.items():
            found = exploitability(agent, id, options)
            before = "" if len(self.config.environments) == 1 else f"{id}/"
            if found.exploitability is not None and found.conditional is not None:
                measured[f"{before}exploitability"] = found.exploitability
                measured[f"{before}exploitability_if_legal"] = found.conditional
        self._spent += time.monotonic() - now
        return measured


def is_small(env_id: str, options: Mapping[str, Any]) -> bool:
    """Return whether a game is a small two-player one with hidden information and moves in turn."""
    env = make(env_id, **options)
    if not isinstance(env.task, OpenSpielTask) or len(env.possible_agents) != 2:
        return False
    kind = env.task.game.get_type()
    sequential = kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
    if not sequential or kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION:
        return False
    try:
        return len(game_tree(str(env.task.game)).decisions) <= PROBED_STATES
    except CoevoError:
        return False
