"""Explored: tasks that an explorer writes where none are given (AgentEvolver, arXiv 2511.10395).

An explorer makes random moves. What it has brought about becomes a task (`Task.achieved`), the
moves up to then its reference solution. A task is kept whose reference solves it when it is played
again, and whose words are not nearly those of a task that was kept before (Jaccard). Of like tasks
the one with the shortest reference stays.

The source lets a language model explore and write, up to 30 steps a walk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.parsing import answer
from coevo.envs.rewards.words import words
from coevo.trainers.samplers.curriculum import Curriculum, Proposal, Seen, Source, TaskSettings

STREAM = 9
"""Of the generators that explore and draw."""


@config
class Explored:
    """Tasks that an explorer has written before the first update."""

    counts_episodes: ClassVar[bool] = True
    name: Literal["explored"] = "explored"
    walks: Annotated[int, whole(1)] = 64
    """Walks of the explorer through every environment."""
    starts: Annotated[int, whole(1)] = 1
    """Start states that the walks are spread over."""
    moves: Annotated[int, whole(1)] = 30
    """Most moves of a walk."""
    alike: Annotated[float, real(above=0)] = 0.8
    """Jaccard index of the words of two tasks from which on they are one; above 1 all are kept."""
    checked: bool = True
    """Whether a task is dropped whose reference does not solve it."""
    solved: Annotated[float, real()] = 0.5
    """Payoff of all seats from which on a reference counts as a solution."""
    own: Annotated[float, real(above=0, high=1)] = 1.0
    """Share of the groups that play such tasks; the others play tasks as they come."""

    def start(
        self, sources: Mapping[str, Source], collect: TaskSettings, seed: int
    ) -> ExploredTasks:
        return ExploredTasks(sources, collect, seed, self)


@dataclass(frozen=True)
class ExploredTask:
    """A task that an explorer wrote."""

    env: str
    seed: int
    options: Mapping[str, Any]
    reference: Sequence[str]
    """Moves that led there."""

    @property
    def words(self) -> frozenset[str]:
        return frozenset(words(json.dumps(dict(self.options))))


class ExploredTasks(Curriculum):
    """What the explorer has written, and draws from it."""

    def __init__(
        self, sources: Mapping[str, Source], collect: TaskSettings, seed: int, config: Explored
    ) -> None:
        super().__init__(sources, collect, seed)
        self.config = config
        self.written: list[ExploredTask] = []
        """Tasks that were kept; none before the first update."""

    def propose(self, step: int, groups: int, batch: int = 0) -> list[Proposal]:
        fresh = super().propose(step, groups, batch)
        self.written = self.written or self._explored()
        rng = np.random.default_rng([self.seed, step, batch, STREAM])
        own = max(1, round(self.config.own * groups))
        drawn = [self.written[i] for i in rng.integers(len(self.written), size=own)]
        size = self.collect.group_size
        return [
            *(Proposal(w.env, w.seed, dict(w.options), size) for w in drawn),
            *fresh[: groups - own],
        ]

    def _explored(self) -> list[ExploredTask]:
        """Walk through every environment; return the tasks that are kept."""
        kept: list[ExploredTask] = []
        for number, (id, source) in enumerate(self.sources.items()):
            rng = np.random.default_rng([self.seed, number, STREAM])
            seeds = rng.integers(2**31, size=self.config.starts).tolist()
            found = [
                task
                for walk in range(self.config.walks)
                for task in self._walk(id, source.env, seeds[walk % len(seeds)], rng)
            ]
            for task in sorted(found, key=lambda task: len(task.reference)):
                if not self._repeats(task, kept) and self._feasible(task, source.env):
                    kept.append(task)
        if not kept:
            raise ConfigError(
                "collect.curriculum='explored': the explorer wrote no task; the environment needs "
                "`Task.achieved`, which coevo/quest-v0 has, or more walks and moves"
            )
        return kept

    def _walk(
        self, id: str, template: TextEnv, seed: int, rng: np.random.Generator
    ) -> Iterator[ExploredTask]:
        """Make random moves; whenever something new was brought about, write it down."""
        env, moves, last = self._begun(template, seed, {}), list[str](), dict[str, Any]()
        while env.awaiting and len(moves) < self.config.moves:
            legal = env.task.legal(env.agent_selection)
            if legal is None:
                raise ConfigError(f"collect.curriculum='explored': {id} lists no moves to explore")
            moves.append(legal[int(rng.integers(len(legal)))])
            env.step(answer(moves[-1]))
            now = env.task.achieved(rng)
            if now and now != last:
                yield ExploredTask(id, seed, now, list(moves))
            last = now

    def _begun(self, template: TextEnv, seed: int, options: Mapping[str, Any]) -> TextEnv:
        env = template.fresh()
        env.reset(seed=seed, options={**self.collect.options, **options})
        return env

    def _repeats(self, task: ExploredTask, kept: Sequence[ExploredTask]) -> bool:
        return any(
            (other.env, other.seed) == (task.env, task.seed)
            and len(task.words & other.words) >= self.config.alike * len(task.words | other.words)
            for other in kept
        )

    def _feasible(self, task: ExploredTask, template: TextEnv) -> bool:
        """Return whether the reference solves the task when it is played again."""
        if not self.config.checked:
            return True
        env = self._begun(template, task.seed, task.options)
        for move in task.reference:
            if env.awaiting:
                env.step(answer(move))
        paid = sum(env.episode.total(seat, "payoff") for seat in env.possible_agents)
        return paid >= self.config.solved

    def observe(self, seen: Sequence[Seen], step: int) -> None:
        super().observe([s for s in seen if s[0].place >= 0 or self.history is None], step)

    def metrics(self) -> dict[str, float]:
        """Return how many tasks were written, beside the skills."""
        return super().metrics() | {"curriculum/written": float(len(self.written))}

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "written": [asdict(task) for task in self.written]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        try:
            self.written = [ExploredTask(**task) for task in state["written"]]
        except (KeyError, TypeError) as error:
            raise DataError(f"not the state of explored tasks: {error!r}") from None
