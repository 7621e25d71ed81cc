"""Update: the optimiser steps of every parameter set, on all items of an update at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatch
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from coevo.envs.core.config import config
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.items.items import Items
from coevo.trainers.items.sequences import Sequences
from coevo.trainers.learners.algorithm_settings import AlgorithmSettings
from coevo.trainers.learners.learner import Learner
from coevo.trainers.learners.settings import OptimConfig
from coevo.trainers.losses import Loss, Policy
from coevo.trainers.steps.build_batch import needs_old, rescore


@config
class Update(Step):
    """Takes optimiser steps on a sum of losses, one parameter set after the other."""

    moves: ClassVar = True
    in_ranks: ClassVar = True
    name: Literal["update"] = "update"
    losses: Annotated[tuple[Loss, ...], Field(min_length=1)] = (Policy(),)
    """What is minimised together; each learns from items of its kind."""
    sets: tuple[str, ...] = ()
    """Parameter sets that learn, by name or by a pattern such as `worker_*`; empty: all."""
    besides: tuple[str, ...] = ()
    """Those of them that do not; a name that nobody has counts for nothing."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The items of every loss."""
        return tuple(dict.fromkeys(loss.kind for loss in self.losses))

    @property
    def needs_reference(self) -> bool:
        """Whether a loss compares with the reference policy."""
        return any(loss.needs_reference for loss in self.losses)

    @property
    def parts(self) -> tuple[str, ...]:
        """The losses, where they are not the policy loss alone, and who learns."""
        losses = () if self.losses == (Policy(),) else tuple(loss.name for loss in self.losses)
        return (*losses, *self.sets, *(f"not {name}" for name in self.besides))

    def moves_set(self, name: str) -> bool:
        """Return whether a parameter set learns in this step.

        >>> [Update(besides=("planner_*",)).moves_set(n) for n in ("planner_0", "worker_0")]
        [False, True]
        """
        named = any(fnmatch(name, pattern) for pattern in self.sets or ("*",))
        return named and not any(fnmatch(name, pattern) for pattern in self.besides)

    def __call__(self, ctx: UpdateContext) -> None:
        """Let every parameter set learn what there is to learn."""
        here = [(loss, ctx.items[loss.kind]) for loss in self.losses if loss.kind in ctx.items]
        metrics, state = learn(
            ctx.algorithm,
            ctx.learners,
            here,
            ctx.estimator_state,
            rate=ctx.rate,
            seed=ctx.seed + ctx.step,
            sets=[name for name in ctx.learners if self.moves_set(name)],
        )
        ctx.estimator_state |= state
        ctx.log(metrics)


Lessons = Sequence[tuple[Loss, Sequences | Items]]
"""What there is to learn from, each with its loss."""


def learn(
    algorithm: AlgorithmSettings,
    learners: Mapping[str, Learner],
    lessons: Lessons,
    state: Mapping[str, Any],
    *,
    rate: float,
    seed: int,
    sets: Collection[str] | None = None,
) -> tuple[dict[str, float], dict[str, Any]]:
    """Update every parameter set with what it wrote, and role after role where they alternate.

    Args:
        algorithm: whose settings count.
        learners: parameter set -> learner.
        lessons: losses with their items.
        state: of the losses, such as an adaptive coefficient.
        rate: factor on the learning rates.
        seed: of the order of mini-batches.
        sets: parameter sets that learn; None means all.

    Returns:
        Metrics, and the state that the losses leave behind.
    """
    metrics: dict[str, float] = {}
    after: dict[str, Any] = {}
    again = needs_old(algorithm, learners) and algorithm.optim.old == "role"
    every = dict.fromkeys(role for _, items in lessons for role in items.roles)
    for number, (prefix, roles) in enumerate(alternating(algorithm.optim, every)):
        if number and again:
            lessons = [
                (loss, rescore(learners, items) if isinstance(items, Sequences) else items)
                for loss, items in lessons
            ]
        here = [(loss, items.said_as(roles)) for loss, items in lessons]
        for name in learners if sets is None else sets:
            learner = learners[name]
            own = [(loss, items.written_by(name)[0]) for loss, items in here]
            known = after.get(f"loss/{name}", state.get(f"loss/{name}", {}))
            objectives = [learner.objective_of(x, items, known) for x, items in own if len(items)]
            if objectives:
                stats, after[f"loss/{name}"] = learner.update(objectives, rate=rate, seed=seed)
                whose = prefix + ("" if len(learners) == 1 else f"{name}/")
                metrics |= {f"{whose}{k}": v for k, v in stats.items()}
    return metrics, after


def alternating(optim: OptimConfig, roles: Collection[str]) -> list[tuple[str, Collection[str]]]:
    """Return which roles are learnt from together, in order; frozen ones are left out.

    Returns:
        Prefix of the metrics, empty where all learn at once, and the roles.
    """
    frozen = set(optim.frozen)
    named = [r for r in optim.alternate if r not in frozen]
    rest = [r for r in roles if r not in named and r not in frozen]
    alone = [(f"{role}/", [role]) for role in named]
    return [*alone, ("", rest)] if rest or not named else [*alone]
