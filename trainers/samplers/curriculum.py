"""Curricula: which tasks an update plays, from what is known about earlier ones.

A task is an environment, a seed and options of its reset. A curriculum proposes tasks with the
number of their episodes, and observes how these went; what it knows is in the checkpoint. `Drawn`
draws new tasks or plays a fixed list, shared out by `collect.allocate`; `evolve` has another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from coevo.envs.core.config import config
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError
from coevo.trainers.samplers.allocate import Allocation
from coevo.trainers.samplers.levels import Levels
from coevo.trainers.samplers.tasks import TaskHistory

SKILLS = 4
"""Stream of the generator that shares groups out among environments."""
LEVELS = 8
"""Stream of the generator that draws levels of difficulty."""


@dataclass(frozen=True)
class Source:
    """An environment that tasks come from."""

    env: TextEnv
    """One of it, to ask for variations of a task."""
    weight: float
    """Its share of the groups, before they are normalised."""
    skill: str
    """What its tasks train, for statistics."""


@dataclass(frozen=True)
class Proposal:
    """A task and how often it is played in an update."""

    env: str
    """Registered id."""
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    episodes: int = 1
    """0 leaves the task out."""
    place: int = -1
    """Place in a fixed list of tasks; -1 where tasks are endless."""

    @property
    def key(self) -> str:
        return json.dumps([self.env, self.seed, dict(self.options)], sort_keys=True)


Seen = tuple[Proposal, Sequence[float]]
"""A task that was played, and the successes of its learners' trajectories, 0..1."""


class TaskSettings(Protocol):
    """What a curriculum reads of the settings of collection; `CollectConfig` documents each."""

    @property
    def tasks(self) -> int: ...
    @property
    def group_size(self) -> int: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def up_to(self) -> float | None: ...
    @property
    def allocate(self) -> Allocation: ...


class Curriculum:
    """Draws new tasks, or plays a fixed list, each environment by its weight."""

    config: Any = None
    """The settings of a kind of curriculum that has some."""

    def __init__(self, sources: Mapping[str, Source], collect: TaskSettings, seed: int) -> None:
        self.sources, self.collect, self.seed = sources, collect, seed
        self.skills = tuple(dict.fromkeys(source.skill for source in sources.values()))
        self.by_skill = TaskHistory(len(self.skills))
        ranges = {id: source.env.task.difficulties for id, source in sources.items()}
        self.by_level = Levels(ranges)
        self.history: TaskHistory | None = None
        if collect.tasks:
            self.history = collect.allocate.history(collect.tasks)

    def propose(self, step: int, groups: int, batch: int = 0) -> list[Proposal]:
        """Return the tasks of an update.

        Allocators that may leave tasks out choose among all of them, the others among `groups`.
        `batch` counts where several are played until enough groups inform.
        """
        rng = np.random.default_rng([self.seed, step, *([batch] if batch else [])])
        places, seeds = self._places(groups, rng)
        envs = self._environments(places, step, batch)
        counts = np.full(len(places), self.collect.group_size)
        if self.history is not None:
            stats = self.history.stats(places.tolist())
            counts = self.collect.allocate(stats, groups * self.collect.group_size, rng)
        levels = self._levels(envs, step, batch)
        drawn = zip(envs, seeds.tolist(), levels, counts.tolist(), places.tolist(), strict=True)
        return [Proposal(*task) for task in drawn]

    def _levels(self, envs: Sequence[str], step: int, batch: int) -> list[dict[str, float]]:
        """Return the options of every task: a difficulty, where levels are bounded."""
        share, known = self.collect.up_to, self.by_level.difficulties
        if share is None:
            return [{} for _ in envs]
        without = [id for id in envs if id not in known]
        if without:
            raise ConfigError(
                f"collect.up_to={share:g}: {without[0]} has no levels of difficulty; questions of "
                "word_problems have"
            )
        rng = np.random.default_rng([self.seed, step, batch, LEVELS])
        open_levels = [known[id][: max(1, round(share * len(known[id])))] for id in envs]
        return [{"difficulty": given[rng.integers(len(given))]} for given in open_levels]

    def observe(self, seen: Sequence[Seen], step: int) -> None:
        """Note how the tasks of an update went, those that are not learnt from included."""
        found = [(p, x) for p, successes in seen for x in successes]
        names = [self.skills.index(self.sources[p.env].skill) for p, _ in found]
        self.by_skill.after_update(names, [x for _, x in found])
        self.by_level.observe([(p.env, {**self.collect.options, **p.options}, x) for p, x in found])
        if self.history is not None:
            self.history.after_update([p.place for p, _ in found], [x for _, x in found])

    def metrics(self) -> dict[str, float]:
        """Return what the latest episodes of every level and skill were worth, 0..1.

        Skills count where there are several; beside each, how many trajectories were seen so far.
        """
        levels = self.by_level.metrics()
        if len(self.skills) < 2:
            return levels
        stats = self.by_skill.stats()
        found = {
            f"skill/{s}/seen": float(n) for s, n in zip(self.skills, stats.trials_P, strict=True)
        }
        pairs = zip(self.skills, stats.last_mean_P.tolist(), strict=True)
        return levels | found | {f"skill/{s}/success": p for s, p in pairs if p == p}

    def state_dict(self) -> dict[str, Any]:
        skills = {"skills": self.by_skill.state_dict(), "levels": self.by_level.state_dict()}
        return skills if self.history is None else {**self.history.state_dict(), **skills}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if self.history is not None:
            self.history.load_state_dict(state)
        self.by_skill.load_state_dict(state["skills"])
        self.by_level.load_state_dict(state["levels"])

    def _places(self, groups: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return places in the list of tasks, and their seeds."""
        if self.history is None:
            return np.full(groups, -1), rng.integers(2**31, size=groups)
        size = len(self.history)
        every = np.random.default_rng([self.seed, 2**31]).integers(2**31, size=size)
        if not self.collect.allocate.n_min:
            return np.arange(size), every
        at = rng.choice(size, groups, replace=groups > size)
        return at, every[at]

    def _environments(self, places: np.ndarray, step: int, batch: int) -> list[str]:
        """Return the environment of every task; one of a list keeps its own."""
        if self.history is None:
            return shared_out(self.sources, len(places), [self.seed, step, batch, SKILLS])
        every = shared_out(self.sources, len(self.history), [self.seed, SKILLS])
        return [every[place] for place in places]


def shared_out(sources: Mapping[str, Source], groups: int, entropy: Sequence[int]) -> list[str]:
    """Return an environment for every group: each its share, rounded up or down, in mixed order."""
    rng = np.random.default_rng(list(entropy))
    weight_E = np.array([source.weight for source in sources.values()])
    edge_E = np.cumsum(weight_E) / weight_E.sum()
    at_G = np.searchsorted(edge_E[:-1], (np.arange(groups) + rng.random()) / groups, side="right")
    ids = list(sources)
    return [ids[i] for i in rng.permutation(at_G)]


@config
class Drawn:
    """New tasks, or those of the list of `collect.tasks`, as `collect.allocate` says."""

    counts_episodes: ClassVar[bool] = False
    """Whether it decides itself how often a task is played."""
    name: Literal["drawn"] = "drawn"

    def start(self, sources: Mapping[str, Source], collect: TaskSettings, seed: int) -> Curriculum:
        return Curriculum(sources, collect, seed)
