"""Learners against a pool: the policy of the start, past selves, other agents, one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from coevo.agents.models.copies import copy_weights, frozen_copy
from coevo.agents.policy import Policy
from coevo.agents.population.population import MakePolicy, Population, Result, member
from coevo.agents.registry import check_scripted
from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError

START = "past000000"
"""Name of the past self that is the policy of the start."""
PRIOR = 1.0
"""Episodes, half of them won, that are assumed of an opponent before any was played."""


class Standing(NamedTuple):
    """What is known of an opponent."""

    won: float
    """Share of episodes that the learners won against it."""
    weight: float
    """Its share in the meta-strategy; 0 where there is none."""


@config
class Uniform:
    """Every opponent equally often."""

    name: Literal["uniform"] = "uniform"

    def __call__(self, pool: Sequence[Standing], rng: np.random.Generator) -> int:
        """Return the place of the next opponent."""
        return int(rng.integers(len(pool)))


@config
class Prioritised:
    """Prioritised fictitious self-play: who is hard to beat, or about as strong, comes more often.

    An opponent against which a share x of episodes is won is drawn in proportion to (1 - x)^power
    (`hard`) or x (1 - x) (`even`); Vinyals et al. 2019, Grandmaster level in StarCraft II,
    Methods, with power 2. Where all weights are 0 every opponent is drawn alike.
    """

    name: Literal["prioritised"] = "prioritised"
    prefers: Literal["hard", "even"] = "hard"
    power: Annotated[float, real(above=0)] = 2.0

    def __call__(self, pool: Sequence[Standing], rng: np.random.Generator) -> int:
        x_N = np.array([one.won for one in pool], dtype=np.float64)
        weight_N = (1 - x_N) ** self.power if self.prefers == "hard" else x_N * (1 - x_N)
        return _drawn(weight_N, rng)


@config
class MetaStrategy:
    """By the meta-strategy that the step `solve_meta` has found last; before that, evenly."""

    name: Literal["meta_strategy"] = "meta_strategy"

    def __call__(self, pool: Sequence[Standing], rng: np.random.Generator) -> int:
        return _drawn(np.array([one.weight for one in pool], dtype=np.float64), rng)


def _drawn(weight_N: np.ndarray, rng: np.random.Generator) -> int:
    total = weight_N.sum()
    return int(rng.choice(len(weight_N), p=weight_N / total if total > 0 else None))


Draw = Annotated[Uniform | Prioritised | MetaStrategy, choice()]


@dataclass
class Frozen(Population):
    """One learner against the policy it started from, in rotating seats."""

    def __post_init__(self, make: MakePolicy) -> None:
        super().__post_init__(make)
        self.fixed["frozen"] = make("frozen", learns=False)

    def assign(self, group: int, rng: np.random.Generator) -> dict[str, str]:
        learner = group % len(self.seats)
        return {s: "policy" if i == learner else "frozen" for i, s in enumerate(self.seats)}


@dataclass
class Pool(Population):
    """Learners against themselves, their past selves and agents that never learn."""

    spec: PastSelves = field(kw_only=True)
    """Snapshots, learners and members, and how opponents are drawn."""
    results: dict[str, list[float]] = field(default_factory=dict)
    """Opponent -> [episodes won against it, episodes], faded."""
    weights: dict[str, float] = field(default_factory=dict)
    """Opponent -> its share in the meta-strategy."""

    def __post_init__(self, make: MakePolicy) -> None:
        count = self.spec.learners
        names = [f"policy_{i}" for i in range(count)] if count > 1 else ["policy"]
        self.learners |= {name: make(name) for name in names}
        self.fixed |= {name: member(name) for name in dict.fromkeys(self.spec.members)}
        if self.spec.first:
            for number in range(count):
                self.restore_snapshot(f"{START}_{number}" if count > 1 else START)

    def assign(self, group: int, rng: np.random.Generator) -> dict[str, str]:
        """Rotate a learner; the other seats are learners, or one opponent from the pool."""
        names, place = list(self.learners), group % len(self.seats)
        learner = names[group // len(self.seats) % len(names)]
        if not self.fixed or rng.random() < self.spec.latest:
            others = [names[int(rng.integers(len(names)))] if self.spec.learners > 1 else learner]
            others *= len(self.seats)
        else:
            pool = sorted(self.fixed)
            known = [Standing(self.won(n), self.weights.get(n, 0.0)) for n in pool]
            others = [pool[self.spec.draw(known, rng)]] * len(self.seats)
        return {s: learner if i == place else others[i] for i, s in enumerate(self.seats)}

    def won(self, name: str) -> float:
        """Return which share of episodes the learners won against an opponent; a draw is half."""
        points, episodes = self.results.get(name, (0.0, 0.0))
        return (points + PRIOR / 2) / (episodes + PRIOR)

    def observe(self, results: Iterable[Result]) -> None:
        for players, scores in results:
            rivals = {n for n in players.values() if n not in self.learners}
            for rival in sorted(rivals & self.fixed.keys()):
                ours = fmean(scores[s] for s, n in players.items() if n in self.learners)
                theirs = fmean(scores[s] for s, n in players.items() if n == rival)
                counted = self.results.setdefault(rival, [0.0, 0.0])
                counted[0] += 0.5 * (1 + (ours > theirs) - (ours < theirs))
                counted[1] += 1.0

    def after_update(self, step: int) -> None:
        """Keep a copy of every learner every so many updates; what is known of others fades."""
        for counted in self.results.values():
            counted[:] = [(1 - self.spec.fade) * x for x in counted]
        if not self.spec.size or step % self.spec.every:
            return
        for number, learner in enumerate(self.learners.values()):
            end = f"_{number}" if self.spec.learners > 1 else ""
            snapshot = self.restore_snapshot(f"past{step:06d}{end}")
            copy_weights(snapshot.model, learner.model)
            snapshot.publish(step)
        past = [name for name in sorted(self.snapshots()) if not name.startswith(START)]
        for name in past[: -self.spec.size * self.spec.learners]:
            self.snapshots()[name].retire()
            del self.fixed[name]
            self.results.pop(name, None)

    def snapshots(self) -> Mapping[str, Policy]:
        past = {n: a for n, a in self.fixed.items() if n not in self.spec.members}
        return {n: a for n, a in past.items() if isinstance(a, Policy)}

    @property
    def start(self) -> Policy:
        """The policy of the start, which never leaves the pool."""
        return self.snapshots()[START]

    def restore_snapshot(self, name: str) -> Policy:
        step, _, number = name.removeprefix("past").partition("_")
        learner = self.learners[f"policy_{number}" if number else "policy"]
        agent = learner.having(frozen_copy(learner.model), name)
        agent.publish(int(step))
        agent.reseed(agent.version)  # a generator of its own
        self.fixed[name] = agent
        return agent

    def state_dict(self) -> dict[str, Any]:
        results = {name: list(counted) for name, counted in self.results.items()}
        return {"results": results, **({"weights": self.weights} if self.weights else {})}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.weights = dict(state.get("weights", {}))
        self.results = {name: list(counted) for name, counted in state.get("results", {}).items()}


@config
class FrozenOpponent:
    """One learner against the policy it started from."""

    name: Literal["frozen_opponent"] = "frozen_opponent"

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        return Frozen(tuple(seats), make)


@config
class PastSelves:
    """Learners against one another, their past selves and agents that never learn."""

    name: Literal["past_selves"] = "past_selves"
    every: Annotated[int, whole(1)] = 20
    """Updates between snapshots."""
    size: Annotated[int, whole(0)] = 5
    """Snapshots of each learner that are kept, the oldest goes first; 0 keeps none."""
    first: bool = False
    """Whether the policy of the start is a past self, too, and stays one."""
    latest: Annotated[float, real(0, 1)] = 0.5
    """Share of groups in which learners play learners."""
    learners: Annotated[int, whole(1)] = 1
    """Parameter sets that learn; each sits in every seat in turn."""
    members: tuple[str, ...] = ()
    """Agents of the pool that never learn, such as `[expert:0.8, tft, openai:MODEL]`."""
    draw: Draw = field(default_factory=Uniform)
    """How the opponent of a group is drawn from the pool."""
    fade: Annotated[float, real(0, below=1)] = 0.0
    """Share of what is known of opponents that every update forgets."""

    def __post_init__(self) -> None:
        check_scripted("population.members", self.members)
        if self.first and not self.size:
            raise ConfigError(
                "past_selves.first=True and past_selves.size=0 contradict each other: give a size"
            )
        if not self.size and not self.members:
            raise ConfigError(
                "past_selves.size=0 and past_selves.members=[] leave the pool empty: name"
                " members, such as "
                "[expert:0.8], or keep past selves (size above 0); population=shared is self-play"
            )

    def __call__(self, seats: Sequence[str], make: MakePolicy) -> Population:
        return Pool(tuple(seats), make, spec=self)
