"""Schedules: numbers of a configuration that move while a run goes on.

    schedules={"optim.rate": Linear(to=0.02), "collect.options.max_cycles": Steps(values=(4, 6))}

A schedule takes a setting away from its own value. It is a function of how far the run is, so that
a resumed run goes on where it was.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from coevo.envs.core.config import choice, config, real, whole


@config
class Linear:
    """Goes to a value in equal steps, and stays there.

    >>> [Linear(to=0.0, over=4)(1.0, step, 0.0) for step in (0, 1, 4, 9)]
    [1.0, 0.75, 0.0, 0.0]
    """

    name: Literal["linear"] = "linear"
    to: Annotated[float, real()]
    """Value at the end."""
    over: Annotated[int, whole(1)] | None = None
    """Updates until then; None takes the whole run, by the limit that is nearest."""

    def __call__(self, own: float, step: int, done: float) -> float:
        """Return the setting after `step` updates, with a share `done` of the run behind it."""
        return own - (own - self.to) * _share(self.over, step, done)

    @property
    def ends(self) -> tuple[float, ...]:
        """Values that bound what it gives, beside the setting's own."""
        return (self.to,)


@config
class Cosine:
    """Goes to a value along half a cosine, and stays there.

    >>> [round(Cosine(to=1.0, over=200)(0.0, step, 0.0), 4) for step in (0, 50, 100, 200, 500)]
    [0.0, 0.1464, 0.5, 1.0, 1.0]
    """

    name: Literal["cosine"] = "cosine"
    to: Annotated[float, real()]
    """Value at the end."""
    over: Annotated[int, whole(1)] | None = None
    """Updates until then; None takes the whole run, by the limit that is nearest."""

    def __call__(self, own: float, step: int, done: float) -> float:
        share = _share(self.over, step, done)
        return own - (own - self.to) * (1 - math.cos(math.pi * share)) / 2

    @property
    def ends(self) -> tuple[float, ...]:
        return (self.to,)


@config
class Steps:
    """Takes one value after the other, each for so many updates; the last one stays.

    >>> [Steps(values=(4.0, 6.0), every=10)(2.0, step, 0.0) for step in (0, 9, 10, 20, 99)]
    [2.0, 2.0, 4.0, 6.0, 6.0]
    """

    name: Literal["steps"] = "steps"
    values: Annotated[tuple[Annotated[float, real()], ...], Field(min_length=1)]
    """Values after the setting's own."""
    every: Annotated[int, whole(1)] = 100
    """Updates that the setting's own value and each of these lasts."""

    def __call__(self, own: float, step: int, done: float) -> float:
        passed = step // self.every
        return own if not passed else self.values[min(passed, len(self.values)) - 1]

    @property
    def ends(self) -> tuple[float, ...]:
        return self.values


Schedule = Annotated[Linear | Cosine | Steps, choice()]


def _share(over: int | None, step: int, done: float) -> float:
    return done if over is None else min(step / over, 1.0)
