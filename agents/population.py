"""Which agent sits where: learners, frozen copies, past selves, teams with a place for everybody.

A population maps roles (seats) to parameter sets; several seats may share one. Seats rotate
from group to group, so that no policy learns one side only, except in a team.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from coevo.agents.adapters import Adapter
from coevo.agents.agent import Agent
from coevo.agents.copies import copy_weights, frozen_copy
from coevo.agents.policy import Policy
from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.task import role_of

MakePolicy = Callable[..., Policy]
"""Makes a policy with the start weights under a name; `model=`, `adapter=` and `learns=` as in
`PolicyMaker`."""


@dataclass
class Population:
    """One parameter set plays every seat against itself; the prompt tells it its role."""

    seats: tuple[str, ...]
    """All seats of the environment, in order."""
    make: MakePolicy
    learners: dict[str, Policy] = field(default_factory=dict)
    """Parameter set -> the policy that learns it."""
    fixed: dict[str, Agent] = field(default_factory=dict)
    """Agents that do not learn."""

    def __post_init__(self) -> None:
        self.learners["policy"] = self.make("policy")

    @property
    def agents(self) -> dict[str, Agent]:
        """Every agent by name."""
        return {**self.learners, **self.fixed}

    def assign(self, group: int, rng: np.random.Generator) -> dict[str, str]:
        """Seat -> name of an agent, for group number `group` of the run."""
        return dict.fromkeys(self.seats, "policy")

    def after_update(self, step: int) -> None:
        """React to a finished update: keep a snapshot, swap roles."""

    def by_seat(self, policies: Mapping[str, Policy]) -> dict[str, Policy]:
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


@dataclass
class Team(Population):
    """Every seat keeps its parameter set; several may share one, and some may not learn."""

    set_of: Mapping[str, str] = field(default_factory=dict)
    """Seat -> parameter set."""
    frozen: frozenset[str] = frozenset()
    """Parameter sets that stay what they are at the start."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Parameter set -> start model, where it is not that of the run."""
    adapter: Adapter | None = None
    """What every learner trains on the start model that all share; None trains whole models."""

    def __post_init__(self) -> None:
        for name in dict.fromkeys(self.set_of.values()):
            given: dict[str, Any] = {"model": self.models[name]} if name in self.models else {}
            if name in self.frozen:
                self.fixed[name] = self.make(name, learns=False, **given)
            else:
                given |= {} if self.adapter is None else {"adapter": self.adapter}
                self.learners[name] = self.make(name, **given)
        if not self.learners:
            raise ConfigError(
                f"frozen names all of {', '.join(self.fixed)}: nobody is left to learn"
            )

    def assign(self, group: int, rng: np.random.Generator) -> dict[str, str]:
        """Everybody has a seat of their own."""
        return dict(self.set_of)

    def by_seat(self, policies: Mapping[str, Policy]) -> dict[str, Policy]:
        """Return the policy of every seat, the frozen ones included."""
        still = {n: a for n, a in self.fixed.items() if isinstance(a, Policy)}
        return {seat: {**still, **policies}[name] for seat, name in self.set_of.items()}


@dataclass
class Frozen(Population):
    """One learner against the policy it started from, in rotating seats."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.fixed["frozen"] = self.make("frozen")

    def assign(self, group: int, rng: np.random.Generator) -> dict[str, str]:
        """Rotate the learner through the seats."""
        learner = group % len(self.seats)
        return {s: "policy" if i == learner else "frozen" for i, s in enumerate(self.seats)}


@dataclass
class Pool(Population):
    """One learner against itself and its past selves."""

    every: int = 20
    """Updates between snapshots."""
    size: int = 5
    """Snapshots kept; the oldest goes first."""
    latest: float = 0.5
    """Share of groups in which the learner plays itself."""

    def assign(self, group: int, rng: np.random.Generator) -> dict[str, str]:
        """Rotate the learner; the other seats are itself or a uniformly drawn past self."""
        if not self.fixed or rng.random() < self.latest:
            return dict.fromkeys(self.seats, "policy")
        past = sorted(self.fixed)[int(rng.integers(len(self.fixed)))]
        learner = group % len(self.seats)
        return {s: "policy" if i == learner else past for i, s in enumerate(self.seats)}

    def after_update(self, step: int) -> None:
        """Keep a copy of the learner every so many updates."""
        if step % self.every:
            return
        snapshot = self.restore_snapshot(f"past{step:06d}")
        copy_weights(snapshot.model, self.learners["policy"].model)
        snapshot.version = step
        while len(self.fixed) > self.size:
            del self.fixed[min(self.fixed)]

    def snapshots(self) -> Mapping[str, Policy]:
        """Return the past selves."""
        return {n: a for n, a in self.fixed.items() if isinstance(a, Policy)}

    def restore_snapshot(self, name: str) -> Policy:
        """Add a past self whose weights are to be filled in."""
        learner = self.learners["policy"]
        agent = learner.having(frozen_copy(learner.model), name)
        agent.version = int(name.removeprefix("past"))
        agent.reseed(agent.version)  # a generator of its own
        self.fixed[name] = agent
        return agent


def _team(
    seats: Sequence[str],
    make: MakePolicy,
    set_of: Mapping[str, str],
    frozen: Iterable[str],
    models: Mapping[str, str],
    adapter: Adapter | None = None,
) -> Team:
    names = dict.fromkeys(set_of.values())
    start = {n: path for key, path in models.items() for n in _matching(key, names)}
    still = frozenset(n for key in frozen for n in _matching(key, names))
    return Team(tuple(seats), make, {}, {}, set_of, still, start, adapter)


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that a name or a pattern such as `solver_*` stands for."""
    found = fnmatch.filter(names, pattern)
    if not found:
        raise unknown("parameter set", pattern, names)
    return found


@config
class Shared:
    """One parameter set in every seat."""

    name: Literal["shared"] = "shared"

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        return Population(tuple(seats), make)


@config
class Separate:
    """One parameter set per seat."""

    name: Literal["separate"] = "separate"
    frozen: tuple[str, ...] = ()
    """Seats that play the start weights and do not learn, such as `[judge_0, solver_*]`."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Start models that differ from the run's, such as `{solver_0: PATH}`."""

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        return _team(seats, make, {s: s for s in seats}, self.frozen, self.models)


@config
class ByRole:
    """One parameter set per role: `solver_0` and `solver_1` share `solver`."""

    name: Literal["by_role"] = "by_role"
    frozen: tuple[str, ...] = ()
    """Roles that play the start weights and do not learn."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Start models that differ from the run's, such as `{solver: PATH, judge: PATH}`."""

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        return _team(seats, make, {s: role_of(s) for s in seats}, self.frozen, self.models)


@config
class Adapters:
    """One LoRA adapter per seat, or per role, on one base that all share."""

    name: Literal["adapters"] = "adapters"
    rank: Annotated[int, whole(1)] = 8
    """Rank of the change of every layer."""
    alpha: Annotated[float, real(above=0)] = 16.0
    """Size of the change, times the rank."""
    targets: Annotated[tuple[str, ...], Field(min_length=1)] = ("all-linear",)
    """Layers that are changed, such as `[q_proj, v_proj]`."""
    per: Literal["seat", "role"] = "seat"
    """Who has an adapter."""
    frozen: tuple[str, ...] = ()
    """Those of them that play the base and do not learn."""

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        set_of = {s: s if self.per == "seat" else role_of(s) for s in seats}
        adapter = Adapter(self.rank, self.alpha, " ".join(self.targets))
        return _team(seats, make, set_of, self.frozen, {}, adapter)


@config
class FrozenOpponent:
    """One learner against the policy it started from."""

    name: Literal["frozen"] = "frozen"

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        return Frozen(tuple(seats), make)


@config
class PastSelves:
    """One learner against itself and its past selves."""

    name: Literal["pool"] = "pool"
    every: Annotated[int, whole(1)] = 20
    """Updates between snapshots."""
    size: Annotated[int, whole(1)] = 5
    """Snapshots kept; the oldest goes first."""
    latest: Annotated[float, real(0, 1)] = 0.5
    """Share of groups in which the learner plays itself."""

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        return Pool(tuple(seats), make, every=self.every, size=self.size, latest=self.latest)


PopulationConfig = Annotated[
    Shared | Separate | ByRole | Adapters | FrozenOpponent | PastSelves, choice()
]
"""Who has parameters of their own, and who plays whom."""
