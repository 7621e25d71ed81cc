"""Trace a Pareto front: policies under fixed weights, then from the least crowded on (C-MORL)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.genome import Entries
from coevo.trainers.archive.selectors import crowding, undominated
from coevo.trainers.cycle import UpdateContext
from coevo.trainers.steps.policy_gradient import Collect

LEAST = 1e-3
"""Smallest slack of a constraint, so that its weight stays finite."""


@config
class TraceFront(Collect):
    """Collects for one policy after the other along a Pareto front, and says what each learns for.

    A phase of so many updates is a policy, an artifact of kind `snapshot` with its weights and what
    it earns of every objective on held-out tasks. The first phases begin at the start weights and
    learn by the given preferences. Later ones begin at a policy of the front, the least crowded
    first, and raise one objective after the other while a logarithmic barrier keeps the others
    above their start: they weigh 1 / (strictness * slack) each. What another policy dominates is
    given up. A policy joins in the update behind its phase, and the optimiser begins anew.
    """

    moves: ClassVar = True
    in_ranks: ClassVar = False
    name: Literal["trace_front"] = "trace_front"  # type: ignore[assignment]
    objectives: Annotated[tuple[str, ...], Field(min_length=2)] = ("payoff", "format")
    """Reward components, all of which are to be high."""
    preferences: Annotated[tuple[tuple[float, ...], ...], Field(min_length=1)] = (
        (1.0, 0.0),
        (0.5, 0.5),
        (0.0, 1.0),
    )
    """Weights of the objectives, a policy each."""
    updates: Annotated[int, whole(1)] = 50
    """Updates of a phase."""
    tasks: Annotated[int, whole(1)] = 64
    """Held-out tasks on which a policy is measured."""
    kept: Annotated[float, real(0, below=1)] = 0.9
    """Share of an objective below which the barrier lets no policy fall."""
    strictness: Annotated[float, real(above=0)] = 20.0
    """How late the barrier is felt."""

    def __post_init__(self) -> None:
        for weights in self.preferences:
            if len(weights) != len(self.objectives):
                raise ConfigError(
                    f"trace_front.preferences={self.preferences}: {len(self.objectives)} weights "
                    f"each, for {', '.join(self.objectives)}"
                )

    @property
    def parts(self) -> tuple[str, ...]:
        return self.objectives

    def __call__(self, ctx: UpdateContext) -> None:
        if len(ctx.learners) > 1:
            raise ConfigError(
                f"cycle.trace_front: one policy learns at a time, but there are "
                f"{', '.join(ctx.learners)}; set population=shared"
            )
        phase, at = divmod(ctx.step, self.updates)
        if at == 0:
            self._end(ctx)
            self._begin(ctx, phase)
        super().__call__(ctx)
        now = ctx.archive.living("snapshot")[-1]
        ctx.weigh(dict(zip(self.objectives, self._weights(ctx, now), strict=True)))
        ctx.metrics["front/size"] = len(self._front(ctx))

    # ---- Phases --------------------------------------------------------------------------------

    def _front(self, ctx: UpdateContext) -> list[Artifact]:
        return [a for a in ctx.archive.living("snapshot") if a.stats]

    def _begin(self, ctx: UpdateContext, phase: int) -> None:
        """Propose the next policy, and let the learner have the weights that it begins with."""
        (learner,) = ctx.learners.values()
        genome = Entries()
        first = ctx.archive.living("genome") or [
            ctx.archive.propose("genome", {"of": "start"}, tensors=genome.begin(learner.model))
        ]
        if phase < len(self.preferences):
            content: dict[str, Any] = {"preference": list(self.preferences[phase])}
            ctx.archive.propose("snapshot", content, step=ctx.step)
            parent = first[0]
        else:
            number = phase - len(self.preferences)
            parent = self._parent(ctx, number)
            content = {"raises": number % len(self.objectives), "begins": self._values(parent)}
            ctx.archive.propose("snapshot", content, parents=[parent.id], step=ctx.step)
        genome.write(learner.model, parent.tensors["genome_D"], {})
        learner.restart()
        learner.agent.publish(ctx.step)

    def _parent(self, ctx: UpdateContext, number: int) -> Artifact:
        """Return the policy that stands most alone, then the next, and so on."""
        front = self._front(ctx)
        distance_N = crowding(np.array([self._values(a) for a in front]))
        order = np.argsort(-distance_N, kind="stable")
        return front[order[number // len(self.objectives) % len(front)]]

    def _end(self, ctx: UpdateContext) -> None:
        """Measure the policy of the last phase, and give up what is dominated."""
        living = ctx.archive.living("snapshot")
        if not living:
            return
        (learner,) = ctx.learners.values()
        (episodes,) = ctx.collector.held_out(self.tasks, ctx.step)
        ctx.count(tokens=ctx.collector.tokens(episodes), turns=sum(len(e.turns) for e in episodes))
        last = living[-1]
        last.tensors = Entries().begin(learner.model)
        earned = dict(zip(self.objectives, self._earned(episodes), strict=True))
        ctx.archive.evaluate(last.id, "", **earned)
        front = self._front(ctx)
        free_N = undominated(np.array([self._values(a) for a in front]))
        gone = [a.id for a, free in zip(front, free_N, strict=True) if not free]
        ctx.archive.prune(gone, ctx.step)

    def _values(self, one: Artifact) -> list[float]:
        return [one.stats[c] for c in self.objectives]

    # ---- Weights -------------------------------------------------------------------------------

    def _weights(self, ctx: UpdateContext, now: Artifact) -> list[float]:
        if "preference" in now.payload:
            return list(now.payload["preference"])
        earned = self._earned(ctx.episodes.episodes[: ctx.episodes.fresh])
        begun = now.payload["begins"]
        slack = [x - b + (1 - self.kept) * abs(b) for x, b in zip(earned, begun, strict=True)]
        weights = [1 / (self.strictness * max(s, LEAST)) for s in slack]
        weights[now.payload["raises"]] = 1.0
        return [w / sum(weights) for w in weights]

    def _earned(self, episodes: Sequence[Episode]) -> tuple[float, ...]:
        """Return what a seat earned of every objective, on average."""
        ended = [e for e in episodes if e.stop is not StopReason.ERROR]
        return tuple(
            fmean([e.total(seat, c) for e in ended for seat in e.agents] or [0.0])
            for c in self.objectives
        )
