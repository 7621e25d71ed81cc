"""Show parents: seats that move at once see moves of seats before them, and learn to do without."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from coevo.agents.agent import Agent
from coevo.envs.core.config import config, real
from coevo.envs.core.errors import ConfigError
from coevo.trainers.collect.rollout import EpisodeSpec
from coevo.trainers.cycle import Step, UpdateContext


@dataclass(frozen=True)
class ParentEdges:
    """Draws the parents of every seat of a learner among the seats before it."""

    chance: float
    learners: Collection[str]
    entropy: Sequence[int]
    agents: Mapping[str, Agent] = field(default_factory=dict)

    def __call__(self, spec: EpisodeSpec, group: int, number: int) -> EpisodeSpec:
        rng, seats = np.random.default_rng([*self.entropy, group, number, 29]), list(spec.players)
        drawn_NN = rng.random((len(seats), len(seats))) < self.chance
        parents = {
            seat: tuple(one for one, drawn in zip(seats[:i], drawn_NN[i], strict=False) if drawn)
            for i, seat in enumerate(seats)
            if spec.players[seat] in self.learners
        }
        return replace(spec, parents=parents)


@config
class ShowParents(Step):
    """Quotes moves of seats that come earlier in a round in the prompts of those after them.

    Every seat before a learner's is its parent with a chance, drawn anew for each episode. Where
    seats take turns nothing is added, and held-out episodes are played without parents.
    """

    varies_episodes: ClassVar = True
    name: Literal["show_parents"] = "show_parents"
    chance: Annotated[float, real(0, 1)] = 1.0
    """Chance of an edge; `schedules={cycle.show_parents.chance: ...}` lets it fall to 0."""

    def __call__(self, ctx: UpdateContext) -> None:
        for name, policy in ctx.population.learners.items():
            if policy.reads_numbers:
                raise ConfigError(
                    f"cycle.show_parents: {name} is a network over arrays, which reads no moves in "
                    "a prompt; give --model table or a language model"
                )
        ctx.variation = ParentEdges(self.chance, ctx.learners.keys(), (ctx.seed, ctx.step))
        ctx.metrics["parents/chance"] = self.chance
