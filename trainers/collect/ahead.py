"""Playing ahead: the episodes of later updates are played while earlier ones are learnt from.

With `collect.staleness=k`, update s learns from episodes that were played by the weights after
update max(s - k, 0), never by older ones and never by newer ones: how long anything takes decides
nothing, so that equal seeds give equal runs. When an update begins, the episodes of the one k
updates later are started in a thread of their own, by copies of the policies as they are then; up
to k + 1 batches are under way at once.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from coevo.agents.agent import Agent
from coevo.agents.models.copies import frozen_copy
from coevo.agents.policy import Policy
from coevo.agents.population import Population
from coevo.envs.core.errors import ConfigError
from coevo.trainers.collect.group import Group

Played = Future[list[Group]]


@dataclass
class Ahead:
    """Batches of groups that are being played, or have been, before their update."""

    staleness: int
    """How many updates of the policies a batch may lag behind."""
    batches: dict[int, tuple[int, Played]] = field(default_factory=dict)
    """Update -> updates done when its batch was started, and the batch."""

    def due(self, step: int) -> Iterator[int]:
        """Return the updates whose batches are to be started when update `step` begins."""
        return (s for s in range(step, step + self.staleness + 1) if s not in self.batches)

    def start(self, step: int, version: int, play: Callable[[], list[Group]]) -> None:
        """Let the batch of an update be played in the background, after `version` updates.

        `play` may touch nothing that learning moves.
        """
        self.batches[step] = version, _in_background(play)

    def take(self, step: int) -> list[Group]:
        """Wait for the batch of an update, and return it."""
        return self.batches.pop(step)[1].result()

    def drop_old(self) -> int:
        """Drop the batches that lag too far behind; return how many groups they had.

        There are some where a run goes on with a smaller staleness than it was saved with.
        """
        old = [s for s, (version, _) in self.batches.items() if s - version > self.staleness]
        return sum(len(self.take(s)) for s in old)

    def state_dict(self) -> list[dict[str, Any]]:
        """Wait for what is under way, and return all of it; JSON-able.

        A batch that failed is left out, and will be started again.
        """
        return [
            {"step": s, "version": version, "groups": [g.to_dict() for g in batch.result()]}
            for s, (version, batch) in self.batches.items()
            if batch.exception() is None
        ]

    def load_state_dict(self, state: Sequence[Mapping[str, Any]]) -> None:
        self.batches = {}
        for saved in state:
            batch: Played = Future()
            batch.set_result([Group.from_dict(g) for g in saved["groups"]])
            self.batches[int(saved["step"])] = int(saved["version"]), batch


def as_they_are(population: Population, step: int) -> dict[str, Agent]:
    """Return twins of all agents that stay what the agents are now, to play update `step`.

    Raises:
        ConfigError: one cannot play while it learns.
    """
    return {
        name: _twin(name, agent, step, learns=name in population.learners)
        for name, agent in population.agents.items()
    }


def _twin(name: str, agent: Agent, step: int, *, learns: bool) -> Agent:
    if not isinstance(agent, Policy):
        return copy.copy(agent)
    if not agent.plays_ahead:
        raise ConfigError(
            f"{name} is a {type(agent).__name__}, which cannot play while it learns; set "
            "collect.staleness=0"
        )
    # A name of its own: the engine may have forgotten the agent's weights before the twin plays.
    return agent.having(frozen_copy(agent.model) if learns else agent.model, f"{name}@{step}")


def retire(agents: Mapping[str, Agent]) -> None:
    """Let the engines forget twins that have played."""
    for agent in agents.values():
        if isinstance(agent, Policy):
            agent.retire()


def _in_background(play: Callable[[], list[Group]]) -> Played:
    """Run in a thread that no exit of the process waits for."""
    batch: Played = Future()

    def work() -> None:
        try:
            batch.set_result(play())
        except BaseException as error:  # taking the batch raises it
            batch.set_exception(error)

    threading.Thread(target=work, name="coevo-ahead", daemon=True).start()
    return batch
