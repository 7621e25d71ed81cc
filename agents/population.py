"""Who plays which seat: learners, frozen copies, past selves, scripted opponents.

A population maps roles (seats) to parameter sets; several seats may share one. Seats rotate
from match to match, so that no policy learns one side only.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from coevo.agents.agent import Agent
from coevo.agents.language_model import LanguageModelAgent
from coevo.envs.core.errors import ConfigError

MakePolicy = Callable[[str], LanguageModelAgent]
"""Makes a policy with the start weights under a name."""


@dataclass
class Population:
    """One parameter set plays every seat against itself; the prompt tells it its role."""

    seats: tuple[str, ...]
    """All seats of the environment, in order."""
    make: MakePolicy
    learners: dict[str, LanguageModelAgent] = field(default_factory=dict)
    """Parameter set -> the policy that learns it."""
    others: dict[str, Agent] = field(default_factory=dict)
    """Players that do not learn."""

    def __post_init__(self) -> None:
        self.learners["policy"] = self.make("policy")

    @property
    def players(self) -> dict[str, Agent]:
        """Every player by name."""
        return {**self.learners, **self.others}

    def assign(self, match: int, rng: np.random.Generator) -> dict[str, str]:
        """Seat -> player for match number `match` of the run."""
        return dict.fromkeys(self.seats, "policy")

    def after_update(self, step: int) -> None:
        """React to a finished update: keep a snapshot, swap roles."""

    def snapshots(self) -> Mapping[str, LanguageModelAgent]:
        """Non-learning policies whose weights a checkpoint must keep."""
        return {}

    def restore_snapshot(self, name: str) -> LanguageModelAgent:
        """Make room for a snapshot that a checkpoint is about to fill."""
        raise ConfigError(
            f"a {type(self).__name__} keeps no snapshots, but the checkpoint has {name!r}"
        )


class Separate(Population):
    """One parameter set per seat."""

    def __post_init__(self) -> None:
        for seat in self.seats:
            self.learners[seat] = self.make(seat)

    def assign(self, match: int, rng: np.random.Generator) -> dict[str, str]:
        """Everybody has a seat of their own."""
        return {seat: seat for seat in self.seats}


@dataclass
class Frozen(Population):
    """One learner against the policy it started from, in rotating seats."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.others["frozen"] = self.make("frozen")

    def assign(self, match: int, rng: np.random.Generator) -> dict[str, str]:
        """Rotate the learner through the seats."""
        learner = match % len(self.seats)
        return {s: "policy" if i == learner else "frozen" for i, s in enumerate(self.seats)}


@dataclass
class Pool(Population):
    """One learner against itself and its past selves."""

    every: int = 20
    """Updates between snapshots."""
    size: int = 5
    """Snapshots kept; the oldest goes first."""
    latest: float = 0.5
    """Share of matches in which the learner plays itself."""

    def __post_init__(self) -> None:
        if self.every < 1 or self.size < 1 or not 0 <= self.latest <= 1:
            raise ConfigError(
                f"pool(every={self.every}, size={self.size}, latest={self.latest}): every and size "
                "must be at least 1 and latest between 0 and 1"
            )
        super().__post_init__()

    def assign(self, match: int, rng: np.random.Generator) -> dict[str, str]:
        """Rotate the learner; the other seats are itself or a uniformly drawn past self."""
        if not self.others or rng.random() < self.latest:
            return dict.fromkeys(self.seats, "policy")
        past = sorted(self.others)[int(rng.integers(len(self.others)))]
        learner = match % len(self.seats)
        return {s: "policy" if i == learner else past for i, s in enumerate(self.seats)}

    def after_update(self, step: int) -> None:
        """Keep a copy of the learner every so many updates."""
        if step % self.every:
            return
        snapshot = self.restore_snapshot(f"past{step:06d}")
        snapshot.model.load_state_dict(self.learners["policy"].model.state_dict())
        snapshot.version = step
        while len(self.others) > self.size:
            del self.others[min(self.others)]

    def snapshots(self) -> Mapping[str, LanguageModelAgent]:
        """Give the past selves."""
        return {n: a for n, a in self.others.items() if isinstance(a, LanguageModelAgent)}

    def restore_snapshot(self, name: str) -> LanguageModelAgent:
        """Add a past self whose weights are to be filled in."""
        agent = copy.copy(self.learners["policy"])
        agent.model = copy.deepcopy(agent.model).eval().requires_grad_(False)
        agent.name, agent.version = name, int(name.removeprefix("past"))
        agent.reseed(agent.version)  # a generator of its own
        agent.forget()
        self.others[name] = agent
        return agent


def shared(seats: Sequence[str], make: MakePolicy) -> Population:
    """One parameter set in every seat."""
    return Population(tuple(seats), make)


def separate(seats: Sequence[str], make: MakePolicy) -> Population:
    """One parameter set per seat."""
    return Separate(tuple(seats), make)


def frozen(seats: Sequence[str], make: MakePolicy) -> Population:
    """One learner against the policy it started from."""
    return Frozen(tuple(seats), make)


def pool(
    seats: Sequence[str], make: MakePolicy, *, every: int = 20, size: int = 5, latest: float = 0.5
) -> Population:
    """One learner against itself and its past selves."""
    return Pool(tuple(seats), make, every=every, size=size, latest=latest)


POPULATION = {"shared": shared, "separate": separate, "frozen": frozen, "pool": pool}
"""Name -> maker; the keyword-only arguments are the options of an algorithm record."""
