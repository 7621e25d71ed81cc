"""Teams: each seat has a parameter set, perhaps shared with others of its role.

Some places may be held by the start weights, or by agents that never learn: scripts, experts,
models behind an API. On a schedule the parameter sets that learn exchange their places; what an
optimiser remembers stays with the weights that it moves.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from coevo.agents.agent import Agent
from coevo.agents.models.adapters import Adapter
from coevo.agents.policy import Policy
from coevo.agents.population.population import MakePolicy, Population, member
from coevo.agents.registry import check_scripted
from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError, DataError, unknown
from coevo.envs.core.task import role_of


@dataclass
class Team(Population):
    """Every seat keeps its parameter set; several may share one, and some may not learn."""

    set_of: dict[str, str] = field(default_factory=dict)
    """Seat -> parameter set, or the name of an agent that does not learn."""
    frozen: frozenset[str] = frozenset()
    """Parameter sets that stay what they are at the start."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Parameter set -> start model, where it is not that of the run."""
    adapter: Adapter | None = None
    """What every learner trains on the start model that all share; None trains whole models."""
    members: frozenset[str] = frozenset()
    """Agents that sit in places of their own and are no parameter set."""
    exchange: int = 0

    def __post_init__(self, make: MakePolicy) -> None:
        for name in dict.fromkeys(self.set_of.values()):
            given: dict[str, Any] = {"model": self.models[name]} if name in self.models else {}
            if name in self.members:
                self.fixed[name] = member(name)
            elif name in self.frozen:
                self.fixed[name] = make(name, learns=False, **given)
            else:
                given |= {} if self.adapter is None else {"adapter": self.adapter}
                self.learners[name] = make(name, **given)
        if not self.learners:
            setting = "agents and frozen name" if self.members else "frozen names"
            raise ConfigError(f"{setting} all of {', '.join(self.fixed)}: nobody is left to learn")
        if self.exchange and len(self.learners) < 2:
            raise ConfigError(
                f"exchange={self.exchange}: only {next(iter(self.learners))} learns, and nobody is "
                "there to exchange places with"
            )

    def assign(self, group: int, rng: np.random.Generator) -> dict[str, str]:
        return dict(self.set_of)

    def may_sit(self, name: str) -> Sequence[str]:
        return [seat for seat, owner in self.set_of.items() if owner == name]

    def after_update(self, step: int) -> None:
        """Every so many updates, hand every learner's places to the next learner."""
        if self.exchange and step % self.exchange == 0:
            names = list(self.learners)
            following = dict(zip(names, [*names[1:], names[0]], strict=True))
            self.set_of = {seat: following.get(n, n) for seat, n in self.set_of.items()}

    def by_seat(self, policies: Mapping[str, Policy]) -> Mapping[str, Agent]:
        """Return the agent of every seat, those that do not learn included; a lone policy alone."""
        if self.members and len(policies) == 1 and not self.frozen:
            return dict(policies)
        return {seat: {**self.fixed, **policies}[name] for seat, name in self.set_of.items()}

    def state_dict(self) -> dict[str, Any]:
        return {"set_of": dict(self.set_of)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        found = dict(state.get("set_of", self.set_of))
        if found.keys() != self.set_of.keys() or not set(found.values()) <= self.agents.keys():
            raise DataError(f"the checkpoint seats {found}; the configuration {self.set_of}")
        self.set_of = found


@config
class Members:
    """What every team takes."""

    frozen: tuple[str, ...] = ()
    """Parameter sets that keep the start weights, such as `[judge_0, solver_*]`."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """Their places that other agents take, such as `{player_1: expert:0.8, judge_*: openai:M}`."""
    exchange: Annotated[int, whole(0)] = 0
    """Updates after which the learners exchange places; 0 never does."""

    def __post_init__(self) -> None:
        check_scripted("population.agents", self.agents.values())

    def team(
        self,
        seats: Sequence[str],
        make: MakePolicy,
        set_of: Mapping[str, str],
        models: Mapping[str, str] | None = None,
        adapter: Adapter | None = None,
    ) -> Team:
        """Return the team in which parameter sets have these seats."""
        names = dict.fromkeys(set_of.values())
        still = frozenset(n for key in self.frozen for n in _matching(key, names))
        start = {n: path for key, path in (models or {}).items() for n in _matching(key, names)}
        other = {n: agent for key, agent in self.agents.items() for n in _matching(key, names)}
        for n in other:
            if n in still or n in start:
                raise ConfigError(
                    f"agents gives {n} to {other[n]}, and {'frozen' if n in still else 'models'} "
                    "names it too; leave one out"
                )
        places = {seat: other.get(n, n) for seat, n in set_of.items()}
        return Team(
            seats=tuple(seats),
            make=make,
            set_of=places,
            frozen=still,
            models=start,
            adapter=adapter,
            members=frozenset(other.values()),
            exchange=self.exchange,
        )


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that a name or a pattern such as `solver_*` stands for."""
    found = fnmatch.filter(names, pattern)
    if not found:
        raise unknown("parameter set", pattern, names)
    return found


@config
class Separate(Members):
    """One parameter set per seat."""

    name: Literal["separate"] = "separate"
    models: Mapping[str, str] = field(default_factory=dict)
    """Start models that differ from the run's, such as `{solver_0: PATH}`."""

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        return self.team(seats, make, {s: s for s in seats}, self.models)


@config
class ByRole(Members):
    """One parameter set per role: `solver_0` and `solver_1` share `solver`."""

    name: Literal["by_role"] = "by_role"
    models: Mapping[str, str] = field(default_factory=dict)
    """Start models that differ from the run's, such as `{solver: PATH, judge: PATH}`."""

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        return self.team(seats, make, {s: role_of(s) for s in seats}, self.models)


@config
class Grouped(Members):
    """So many parameter sets, `group_0` and on, each of seats that stand side by side."""

    name: Literal["grouped"] = "grouped"
    groups: Annotated[int, whole(1)] = 2
    """Parameter sets."""

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        if self.groups > len(seats):
            raise ConfigError(f"groups={self.groups}, but there are only {len(seats)} seats")
        return self.team(
            seats, make, {s: f"group_{i * self.groups // len(seats)}" for i, s in enumerate(seats)}
        )


@config
class Adapters(Members):
    """One LoRA adapter per seat, or per role, on one base that all share."""

    name: Literal["adapters"] = "adapters"
    rank: Annotated[int, whole(1)] = 8
    """Rank of the change of every layer."""
    alpha: Annotated[float, real(above=0)] = 16.0
    """Size of the change, times the rank."""
    targets: Annotated[tuple[str, ...], Field(min_length=1)] = ("all-linear",)
    """Layers that are changed, such as `[q_proj, v_proj]`."""
    per: Literal["seat", "role", "all"] = "seat"
    """Who has an adapter of its own; `all` share one."""

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        owners = {s: {"seat": s, "role": role_of(s), "all": "policy"}[self.per] for s in seats}
        adapter = Adapter(self.rank, self.alpha, " ".join(self.targets))
        return self.team(seats, make, owners, adapter=adapter)
