"""What is collected for one update: how many episodes, of which tasks, and what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from math import isfinite
from typing import Annotated, Any

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.rewards import RewardModule
from coevo.trainers.collect.beginnings import Forced, Hint
from coevo.trainers.collect.trees import Trees
from coevo.trainers.samplers.allocate import Allocation, Uniform
from coevo.trainers.samplers.controlled import Controlled
from coevo.trainers.samplers.curriculum import Drawn
from coevo.trainers.samplers.evolve import Evolve
from coevo.trainers.samplers.explored import Explored
from coevo.trainers.samplers.predicted import Predicted
from coevo.trainers.samplers.replay import Replay
from coevo.trainers.samplers.selection import KeepAll, Selection
from coevo.trainers.samplers.task_buffer import TaskBuffer

AnyCurriculum = Annotated[Drawn | Evolve | Controlled | Predicted | Explored, choice()]


@config
class CollectConfig:
    """What is collected for one update."""

    episodes: Annotated[int, whole(1)] = 512
    """Episodes per update; an episode gives one trajectory per learning seat."""
    group_size: Annotated[int, whole(1)] = 1
    """Episodes of the same task; group statistics compare them."""
    curriculum: AnyCurriculum = field(default_factory=Drawn)
    """Which tasks are played."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of every task's reset, such as `max_cycles` or `difficulty`."""
    up_to: Annotated[float, real(0, 1)] | None = None
    """Share of the levels of difficulty, the easiest first, that new tasks are drawn from evenly:
    at least one level; a schedule makes stages of it. None leaves it to the environment."""
    tasks: Annotated[int, whole(0)] = 0
    """Tasks of the whole run; 0 draws new ones for every update."""
    allocate: Allocation = field(default_factory=Uniform)
    """How episodes are shared out among the tasks of an update."""
    forced: Forced | None = None
    """First segments that some episodes of every group begin with."""
    hint: Hint | None = None
    """How much of a task's solution the replies of its episodes begin with."""
    trees: Trees | None = None
    """How groups branch; None plays every episode whole."""
    select: Selection = field(default_factory=KeepAll)
    """Which groups are learnt from."""
    replay: Replay | None = None
    """Which episodes of earlier updates come back."""
    task_buffer: TaskBuffer | None = None
    """What episodes leave for later episodes, and which of them get it."""
    staleness: Annotated[int, whole(0)] = 0
    """Updates by which the policies that played may lag behind the one that learns: so many batches
    are played ahead while it learns; 0 plays and learns in turn."""
    component: str = "payoff"
    """Reward component that allocation, selection and replay look at."""
    low: Annotated[float, real()] | None = None
    """Outcome of that component that counts as no success, where curricula, allocation and hints go
    by success; None is the least that the environment can pay, or that the reward module of another
    component says, or -1 where neither knows."""
    high: Annotated[float, real()] | None = None
    """Outcome that counts as a full success; None is the most, or 1."""

    def success_range(
        self, payoff_range: tuple[float, float], modules: Iterable[RewardModule] = ()
    ) -> tuple[float, float]:
        """Return the outcomes that count as no success and as a full one.

        Args:
            payoff_range: the least and the most that the environment can pay.
            modules: that give the other components, each in its own range.

        >>> CollectConfig(low=1.0).success_range((0.0, 5.0))
        (1.0, 5.0)
        """
        ranges = [m.range for m in modules if m.component == self.component]
        paid = [payoff_range] if self.component == "payoff" else ranges
        low, high = sum(low for low, _ in paid), sum(high for _, high in paid)
        if not (low < high and isfinite(high - low)):
            low, high = -1.0, 1.0
        low, high = low if self.low is None else self.low, high if self.high is None else self.high
        if not low < high:
            raise ConfigError(f"collect.low={low:g} must be below collect.high={high:g}")
        return low, high

    def __post_init__(self) -> None:
        if self.allocate.needs_history and not self.tasks:
            raise ConfigError(
                f"collect.allocate={self.allocate.name!r} shares episodes out by what is known "
                "about a task, but collect.tasks=0 never plays a task twice; give a number of tasks"
            )
        if self.allocate.needs_history and self.curriculum.counts_episodes:
            raise ConfigError(
                f"collect.allocate={self.allocate.name!r} and collect.curriculum="
                f"{self.curriculum.name!r} both decide what is played; leave one out"
            )
        if self.up_to is not None and (self.tasks or self.curriculum.name == "controlled"):
            other = f"collect.tasks={self.tasks}" if self.tasks else "collect.curriculum=controlled"
            raise ConfigError(
                f"collect.up_to={self.up_to:g} and {other} both decide which levels are played; "
                "leave one out"
            )
        if self.curriculum.name == "controlled" and self.tasks:
            raise ConfigError(
                f"collect.curriculum=controlled draws new tasks, and collect.tasks={self.tasks} "
                "plays a fixed list; leave one out"
            )
        if self.forced is not None and self.hint is not None:
            raise ConfigError(
                f"collect.forced.first={list(self.forced.first)} and "
                "collect.hint both say what replies begin with; leave one out"
            )
        if self.forced is not None and self.forced.episodes > self.group_size:
            raise ConfigError(
                f"collect.forced: {len(self.forced.first)} segments, each={self.forced.each}, "
                f"are more than group_size={self.group_size} episodes"
            )
        if self.hint is not None and self.hint.rounds > self.group_size:
            raise ConfigError(
                f"collect.hint.rounds={self.hint.rounds} must not be above collect.group_size="
                f"{self.group_size}: every round plays an episode of each group"
            )
        if self.hint is not None and self.staleness:
            raise ConfigError(
                f"collect.hint and collect.staleness={self.staleness} contradict "
                "each other: a round of hints follows from what came of the last one"
            )
        if self.staleness and self.replay is not None and self.replay.mixes:
            raise ConfigError(
                f"collect.staleness={self.staleness} and collect.replay={self.replay.name!r} "
                "contradict each other: what is played ahead cannot know how many groups will come "
                "back; leave one out"
            )
        if self.trees is not None and (self.forced is not None or self.hint is not None):
            raise ConfigError(
                "collect.trees and collect.forced or hint both say what replies begin with; "
                "leave one out"
            )
        if self.trees is not None and (self.staleness or self.trees.size != self.group_size):
            raise ConfigError(
                f"collect.trees makes groups of {self.trees.size} and is played in turn, but "
                f"group_size={self.group_size} and staleness={self.staleness}; set them to "
                f"{self.trees.size} and 0"
            )
        if self.episodes % self.group_size:
            raise ConfigError(
                f"episodes={self.episodes} must be a multiple of group_size={self.group_size}"
            )
