"""Populations: which parameter sets exist, and which agent sits where.

Seats rotate from group to group, so that no policy learns one side only, except in a team. A
population sees the payoffs of episodes, so that opponents may be chosen by results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from coevo.agents.agent import Agent
from coevo.agents.load import load_agent
from coevo.agents.policy import Policy
from coevo.envs.core.config import config
from coevo.envs.core.errors import ConfigError

MakePolicy = Callable[..., Policy]
"""Makes a policy with the start weights under a name; `model=`, `adapter=`, `learns=` and `plays=`
as in `PolicyMaker`."""


class Result(NamedTuple):
    """How an episode ended for those who played it."""

    players: Mapping[str, str]
    """Seat -> name of an agent."""
    scores: Mapping[str, float]


@dataclass
class Population:
    """One parameter set plays every seat against itself; the prompt tells it its role."""

    seats: tuple[str, ...]
    """All seats of the environment, in order."""
    make: InitVar[MakePolicy]
    """Makes its policies; not kept, since it holds start models."""
    learners: dict[str, Policy] = field(default_factory=dict)
    """Parameter set -> the policy that learns it."""
    fixed: dict[str, Agent] = field(default_factory=dict)

    def __post_init__(self, make: MakePolicy) -> None:
        self.learners["policy"] = make("policy")

    @property
    def agents(self) -> dict[str, Agent]:
        return {**self.learners, **self.fixed}

    def assign(self, group: int, rng: np.random.Generator) -> dict[str, str]:
        """Seat -> name of an agent, for group number `group` of the run."""
        return dict.fromkeys(self.seats, "policy")

    def may_sit(self, name: str) -> Sequence[str]:
        """Return the seats that an agent may be given."""
        return self.seats

    def observe(self, results: Iterable[Result]) -> None:
        """Look at how the episodes of an update ended, in the order in which they were played."""

    def after_update(self, step: int) -> None:
        """React to a finished update: keep a snapshot, exchange roles."""

    def by_seat(self, policies: Mapping[str, Policy]) -> Mapping[str, Agent]:
        """Return what stands for this population at a table, made of its learners' policies.

        Without fixed seats these are the policies themselves.
        """
        return dict(policies)

    def snapshots(self) -> Mapping[str, Policy]:
        """Non-learning policies whose weights a checkpoint must keep."""
        return {}

    def restore_snapshot(self, name: str) -> Policy:
        """Make room for a snapshot that a checkpoint is about to fill."""
        raise ConfigError(
            f"a {type(self).__name__} keeps no snapshots, but the checkpoint has {name!r}"
        )

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint must keep beside weights; JSON-able."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave."""


def member(source: str) -> Agent:
    """Return an agent that plays and does not learn, such as `expert:0.8` or `openai:MODEL`."""
    if source == "human":
        raise ConfigError("a member of a population plays without being watched; human cannot")
    return load_agent(source)


@config
class Shared:
    """One parameter set in every seat."""

    name: Literal["shared"] = "shared"

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        return Population(tuple(seats), make)
