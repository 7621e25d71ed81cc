"""Who plays which seat: learners, frozen copies, past selves, teams with a place for everybody.

A population maps roles (seats) to parameter sets; several seats may share one. Seats rotate
from match to match, so that no policy learns one side only, except in a team.
"""

from __future__ import annotations

import copy
import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from coevo.agents.adapters import Adapter
from coevo.agents.agent import Agent
from coevo.agents.copies import copy_weights, frozen_copy
from coevo.agents.language_model import LanguageModelAgent
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.task import role_of

MakePolicy = Callable[..., LanguageModelAgent]
"""Makes a policy with the start weights under a name; `model=`, `adapter=` and `learns=` as in
`PolicyMaker`."""


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

    def by_seat(self, policies: Mapping[str, LanguageModelAgent]) -> dict[str, LanguageModelAgent]:
        """Give what stands for this population at a table, made of its learners' policies.

        Without fixed seats these are the policies themselves.
        """
        return dict(policies)

    def snapshots(self) -> Mapping[str, LanguageModelAgent]:
        """Non-learning policies whose weights a checkpoint must keep."""
        return {}

    def restore_snapshot(self, name: str) -> LanguageModelAgent:
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
                self.others[name] = self.make(name, learns=False, **given)
            else:
                given |= {} if self.adapter is None else {"adapter": self.adapter}
                self.learners[name] = self.make(name, **given)
        if not self.learners:
            raise ConfigError(
                f"frozen names all of {', '.join(self.others)}: nobody is left to learn"
            )

    def assign(self, match: int, rng: np.random.Generator) -> dict[str, str]:
        """Everybody has a seat of their own."""
        return dict(self.set_of)

    def by_seat(self, policies: Mapping[str, LanguageModelAgent]) -> dict[str, LanguageModelAgent]:
        """Give the policy of every seat, the frozen ones included."""
        still = {n: a for n, a in self.others.items() if isinstance(a, LanguageModelAgent)}
        return {seat: {**still, **policies}[name] for seat, name in self.set_of.items()}


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
        copy_weights(snapshot.model, self.learners["policy"].model)
        snapshot.version = step
        while len(self.others) > self.size:
            del self.others[min(self.others)]

    def snapshots(self) -> Mapping[str, LanguageModelAgent]:
        """Give the past selves."""
        return {n: a for n, a in self.others.items() if isinstance(a, LanguageModelAgent)}

    def restore_snapshot(self, name: str) -> LanguageModelAgent:
        """Add a past self whose weights are to be filled in."""
        agent = copy.copy(self.learners["policy"])
        agent.model = frozen_copy(agent.model)
        agent.name, agent.version = name, int(name.removeprefix("past"))
        agent.reseed(agent.version)  # a generator of its own
        agent.forget()
        self.others[name] = agent
        return agent


def shared(seats: Sequence[str], make: MakePolicy) -> Population:
    """One parameter set in every seat."""
    return Population(tuple(seats), make)


def separate(
    seats: Sequence[str], make: MakePolicy, *, frozen: str = "", models: str = ""
) -> Population:
    """One parameter set per seat.

    Args:
        seats: all seats.
        make: makes policies.
        frozen: seats that play the start weights and do not learn, such as `verifier_0 judge_*`.
        models: start models that differ from the run's, such as `solver_0=PATH; solver_1=PATH`.
    """
    return _team(seats, make, {s: s for s in seats}, frozen, models)


def by_role(
    seats: Sequence[str], make: MakePolicy, *, frozen: str = "", models: str = ""
) -> Population:
    """One parameter set per role: `solver_0` and `solver_1` share `solver`.

    Args:
        seats: all seats.
        make: makes policies.
        frozen: roles that play the start weights and do not learn.
        models: start models that differ from the run's, such as `solver=PATH; judge=PATH`.
    """
    return _team(seats, make, {s: role_of(s) for s in seats}, frozen, models)


def adapters(
    seats: Sequence[str],
    make: MakePolicy,
    *,
    rank: int = 8,
    alpha: float = 16.0,
    targets: str = "all-linear",
    per: Literal["seat", "role"] = "seat",
    frozen: str = "",
) -> Population:
    """One LoRA adapter per seat, or per role, on one base that all share.

    Args:
        seats: all seats.
        make: makes policies.
        rank: of the change of every layer.
        alpha: size of the change, times the rank.
        targets: layers that are changed, such as `q_proj+v_proj`.
        per: who has an adapter.
        frozen: those of them that play the base and do not learn.
    """
    set_of = {s: s if per == "seat" else role_of(s) for s in seats}
    return _team(seats, make, set_of, frozen, "", Adapter(rank, alpha, targets))


def _team(
    seats: Sequence[str],
    make: MakePolicy,
    set_of: Mapping[str, str],
    frozen: str,
    models: str,
    adapter: Adapter | None = None,
) -> Team:
    names = dict.fromkeys(set_of.values())
    given = [part.partition("=") for part in models.split(";") if part.strip()]
    if wrong := [name for name, _, path in given if not path.strip()]:
        raise ConfigError(f"models={models!r} must be name=PATH; name=PATH, given {wrong[0]!r}")
    start = {n: path.strip() for key, _, path in given for n in _matching(key.strip(), names)}
    still = {n for key in re.split(r"[\s;,+]+", frozen) if key for n in _matching(key, names)}
    return Team(tuple(seats), make, {}, {}, set_of, frozenset(still), start, adapter)


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Give the names that a name or a pattern such as `solver_*` stands for."""
    found = fnmatch.filter(names, pattern)
    if not found:
        raise unknown("parameter set", pattern, names)
    return found


def frozen(seats: Sequence[str], make: MakePolicy) -> Population:
    """One learner against the policy it started from."""
    return Frozen(tuple(seats), make)


def pool(
    seats: Sequence[str], make: MakePolicy, *, every: int = 20, size: int = 5, latest: float = 0.5
) -> Population:
    """One learner against itself and its past selves."""
    return Pool(tuple(seats), make, every=every, size=size, latest=latest)


POPULATION = {
    "shared": shared,
    "separate": separate,
    "by_role": by_role,
    "adapters": adapters,
    "frozen": frozen,
    "pool": pool,
}
"""Name -> maker; the keyword-only arguments are the options of an algorithm record."""
