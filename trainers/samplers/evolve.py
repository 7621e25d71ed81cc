"""Evolve: tasks that tell more are played again and varied (eva, arXiv 2411.00062).

Every task that was played is worth info(x), the spread of its outcomes: by how much the best
episode beats the worst (`regret`), or the mean (`advantage`), or their `variance`; or 1 - their
mean success (`difficulty`, which draws hard tasks of earlier stages again). The best
sampled episode stands for what could be reached, so that the first two estimate the regret of the
policy. A part of every update is drawn from the tasks as they come (`fresh`), the rest from the
buffer, in proportion to info; of these a part is varied by their environment (`Task.variation`),
in depth or in breadth, as it sees fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import DataError
from coevo.trainers.samplers.curriculum import Curriculum, Proposal, Seen, Source, TaskSettings

STREAM = 5
"""Of the generator that draws from the buffer."""


@config
class Evolve:
    """A buffer of tasks, drawn by how much their episodes differ, and varied."""

    counts_episodes: ClassVar[bool] = True
    name: Literal["evolve"] = "evolve"
    info: Literal["regret", "advantage", "variance", "difficulty"] = "regret"
    """What a task is worth."""
    warmup: Annotated[int, whole(0)] = 1
    """Updates in which all tasks are fresh."""
    fresh: Annotated[float, real(0, 1)] = 0.5
    """Share of the groups that play tasks as they come."""
    vary: Annotated[float, real(0, 1)] = 0.5
    """Share of those from the buffer that are varied."""
    size: Annotated[int, whole(1)] = 4096
    """Tasks that are kept; those that are worth least go first."""

    def start(
        self, sources: Mapping[str, Source], collect: TaskSettings, seed: int
    ) -> EvolvingTasks:
        return EvolvingTasks(sources, collect, seed, self)

    def worth(self, successes: Sequence[float]) -> float:
        """Return how much a task tells by the successes of its episodes, 0..1.

        >>> [Evolve(info=how).worth([0.0, 0.0, 1.0, 1.0]) for how in ("regret", "advantage")]
        [1.0, 0.5]
        >>> Evolve(info="variance").worth([0.0, 0.0, 1.0, 1.0]), Evolve().worth([])
        (0.25, 0.0)
        >>> Evolve(info="difficulty").worth([0.0, 0.0, 0.0, 1.0])
        0.75
        """
        if not len(successes):
            return 0.0
        x = np.asarray(successes, dtype=np.float64)
        if self.info == "difficulty":
            return float(1.0 - x.mean())
        worst = {"regret": x.min(), "advantage": x.mean(), "variance": 0.0}[self.info]
        return float(x.var() if self.info == "variance" else x.max() - worst)


class EvolvingTasks(Curriculum):
    """The buffer and what is drawn from it."""

    def __init__(
        self, sources: Mapping[str, Source], collect: TaskSettings, seed: int, config: Evolve
    ) -> None:
        super().__init__(sources, collect, seed)
        self.config = config
        self.buffer: dict[str, tuple[Proposal, float]] = {}
        """Key -> task, and what it was worth when it was played last."""

    def propose(self, step: int, groups: int, batch: int = 0) -> list[Proposal]:
        fresh = super().propose(step, groups, batch)
        kept = list(self.buffer.values())
        worth_K = np.array([worth for _, worth in kept])
        if step < self.config.warmup or not worth_K.sum() > 0:
            return fresh
        rng = np.random.default_rng([self.seed, step, batch, STREAM])
        again = groups - round(self.config.fresh * groups)
        at = rng.choice(len(kept), again, p=worth_K / worth_K.sum())
        drawn = [kept[i][0] for i in at]
        varied = round(self.config.vary * again)
        return [
            *fresh[: groups - again],
            *(self._varied(p, rng) for p in drawn[:varied]),
            *drawn[varied:],
        ]

    def _varied(self, parent: Proposal, rng: np.random.Generator) -> Proposal:
        """Return a task like another; a fresh one where the environment knows of none."""
        env = self.sources[parent.env].env.fresh()
        env.reset(seed=parent.seed, options=dict(parent.options))
        options = env.task.variation(rng)
        seed = parent.seed if options else int(rng.integers(2**31))
        return replace(parent, seed=seed, options=options, place=-1)

    def observe(self, seen: Sequence[Seen], step: int) -> None:
        """Value every task by its latest episodes; of too many those worth least are dropped."""
        super().observe([s for s in seen if s[0].place >= 0 or self.history is None], step)
        for proposal, successes in seen:
            self.buffer.pop(proposal.key, None)
            self.buffer[proposal.key] = (
                replace(proposal, place=-1),
                self.config.worth(successes),
            )
        excess = max(0, len(self.buffer) - self.config.size)
        for key in sorted(self.buffer, key=lambda k: self.buffer[k][1])[:excess]:
            del self.buffer[key]

    def metrics(self) -> dict[str, float]:
        """Return the size of the buffer and the mean worth of its tasks, beside the skills."""
        worth = [worth for _, worth in self.buffer.values()]
        found = {"curriculum/tasks": float(len(worth))}
        found |= {"curriculum/info": float(np.mean(worth))} if worth else {}
        return super().metrics() | found

    def state_dict(self) -> dict[str, Any]:
        kept = [[p.env, p.seed, dict(p.options), p.episodes, w] for p, w in self.buffer.values()]
        return {**super().state_dict(), "buffer": kept}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        try:
            kept = [(Proposal(e, s, dict(o), n), float(w)) for e, s, o, n, w in state["buffer"]]
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"not the state of a buffer of tasks: {error!r}") from None
        self.buffer = {proposal.key: (proposal, worth) for proposal, worth in kept}
