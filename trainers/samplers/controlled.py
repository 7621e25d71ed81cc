"""Controlled: the level of every environment follows its success (SCALER, arXiv 2601.04809).

An environment's place d among its levels is a real number. The tasks of an update lie at the levels
below and above it, so that their mean is d, and then
    d <- clip(d + clip(gain (success - target), -1, 1), 0, last level).
A window of environments is active. One that has nothing more to teach gives its place to one that
was never active; as long as there are such, none comes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.samplers.curriculum import (
    Curriculum,
    Proposal,
    Seen,
    Source,
    TaskSettings,
    shared_out,
)

STREAM = 6
"""Of the generator that draws levels and seeds."""


@config
class Controlled:
    """Levels that follow the success, and environments that retire."""

    counts_episodes: ClassVar[bool] = True
    name: Literal["controlled"] = "controlled"
    target: Annotated[float, real(0, 1)] = 0.5
    """Success that is aimed at."""
    gain: Annotated[float, real(above=0)] = 2.0
    """Levels by which d moves for a success that is 1 above the target."""
    first: Annotated[float, real(0)] = 0.0
    """First d of an environment, in levels from the easiest."""
    window: Annotated[int, whole(1)] = 64
    """Environments that are active."""
    failures: Annotated[int, whole(1)] = 5
    """Updates without a success, one after the other, after which an environment retires."""
    tops: Annotated[int, whole(1)] = 5
    """Updates at the highest level, one after the other, after which it retires."""
    slope: Annotated[int, whole(3)] = 50
    """Updates over which d must have grown; else it retires."""

    def start(
        self, sources: Mapping[str, Source], collect: TaskSettings, seed: int
    ) -> ControlledTasks:
        return ControlledTasks(sources, collect, seed, self)

    def moved(self, d: float, success: float, top: int) -> float:
        """Return the next d.

        >>> [Controlled().moved(2.0, p, 5) for p in (0.5, 0.6, 1.0, 0.0)]
        [2.0, 2.2, 3.0, 1.0]
        """
        step = float(np.clip(self.gain * (success - self.target), -1.0, 1.0))
        return float(np.clip(d + step, 0.0, top))

    def stalled(self, history: Sequence[float]) -> bool:
        """Return whether d has not grown over a whole history."""
        if len(history) < self.slope:
            return False
        return float(np.polyfit(np.arange(len(history)), history, 1)[0]) <= 0


@dataclass
class _Standing:
    """Where an active environment stands."""

    d: float
    failures: int = 0
    tops: int = 0
    history: list[float] = field(default_factory=list)


class ControlledTasks(Curriculum):
    """The active environments and where they stand."""

    def __init__(
        self, sources: Mapping[str, Source], collect: TaskSettings, seed: int, config: Controlled
    ) -> None:
        super().__init__(sources, collect, seed)
        self.config = config
        without = [id for id in sources if id not in self.by_level.difficulties]
        if without:
            raise ConfigError(
                f"collect.curriculum='controlled': {without[0]} has no levels of difficulty; "
                "environments of questions with levels have, such as those of word_problems"
            )
        self.waiting = list(sources)
        self.active: dict[str, _Standing] = {}
        self._fill()

    def _fill(self) -> None:
        """Let environments that were never active take the places that are free."""
        while self.waiting and len(self.active) < self.config.window:
            id = self.waiting.pop(0)
            self.active[id] = _Standing(min(self.config.first, self._top(id)))

    def _top(self, env: str) -> int:
        return len(self.by_level.difficulties[env]) - 1

    def propose(self, step: int, groups: int, batch: int = 0) -> list[Proposal]:
        rng = np.random.default_rng([self.seed, step, batch, STREAM])
        sources = {id: self.sources[id] for id in self.active}
        envs = shared_out(sources, groups, [self.seed, step, batch, STREAM + 1])
        out = []
        for id in dict.fromkeys(envs):
            count, d = envs.count(id), self.active[id].d
            above = (np.arange(count) + rng.random()) / count < d % 1.0
            for place in (int(d) + above).tolist():
                options = {"difficulty": self.by_level.difficulties[id][place]}
                seed = int(rng.integers(2**31))
                out.append(Proposal(id, seed, options, self.collect.group_size))
        return out

    def observe(self, seen: Sequence[Seen], step: int) -> None:
        super().observe(seen, step)
        won: dict[str, list[float]] = {}
        for proposal, successes in seen:
            won.setdefault(proposal.env, []).extend(successes)
        for id, outcomes in won.items():
            if id in self.active and outcomes:
                self._note(id, float(np.mean(outcomes)))
        self._fill()

    def _note(self, id: str, success: float) -> None:
        """Move the level of an environment; let it retire if another one waits."""
        own, top, config = self.active[id], self._top(id), self.config
        own.failures = own.failures + 1 if success == 0 else 0
        own.d = config.moved(own.d, success, top)
        own.tops = own.tops + 1 if own.d == top else 0
        own.history = [*own.history, own.d][-config.slope :]
        done = own.failures >= config.failures or own.tops >= config.tops
        if self.waiting and (done or config.stalled(own.history)):
            del self.active[id]

    def metrics(self) -> dict[str, float]:
        """Return the mean place among the levels, and how many environments never were active."""
        mean = float(np.mean([own.d for own in self.active.values()]))
        found = {"curriculum/level": mean, "curriculum/waiting": float(len(self.waiting))}
        return super().metrics() | found

    def state_dict(self) -> dict[str, Any]:
        active = {id: vars(own).copy() for id, own in self.active.items()}
        return {**super().state_dict(), "active": active, "waiting": list(self.waiting)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        try:
            self.active = {id: _Standing(**own) for id, own in state["active"].items()}
            self.waiting = list(state["waiting"])
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"not the state of controlled levels: {error!r}") from None
