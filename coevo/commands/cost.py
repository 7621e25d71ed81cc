"""What an update costs, said before the first one is computed."""

from __future__ import annotations

import time
from collections.abc import Callable

from coevo.trainers.batch import Batch
from coevo.trainers.config import TrainConfig
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.items import Items
from coevo.trainers.learners.forecast import Forecast, forecast

SECONDS, GIGA = 2.0, 2**30
"""An update that takes less of both, in seconds and bytes, is not worth a word."""


class CostNote:
    """Says what an update takes, once the first batch shows how much there is to compute.

    Args:
        config: of the run.
        say: takes one line for the person at the screen.
    """

    def __init__(self, config: TrainConfig, say: Callable[[str], None]) -> None:
        self.config, self.say = config, say
        self._began: float | None = None
        self._done = False

    def __call__(self, step: Step, ctx: UpdateContext) -> None:
        """Look at the context before a step; the first one that learns is foretold."""
        self._began = self._began or time.monotonic()
        if self._done or ctx.batch is None or not any(kind in ctx.items for kind in step.needs):
            return
        self._done = True
        played = time.monotonic() - self._began
        advantages = "advantages" in ctx.items
        batch = ctx.batch if advantages else _of_items(step, ctx) or ctx.batch
        found = forecast(ctx.learners, batch, advantages=advantages)
        if played + found.seconds >= SECONDS or sum(found.memory.values()) >= GIGA:
            self.say(in_words(found, played, self.config))


def _of_items(step: Step, ctx: UpdateContext) -> Batch | None:
    """Return what the items of a step are made of, of several kinds the most; None for none."""
    given = [ctx.items[kind] for kind in step.needs if kind in ctx.items]
    made = [i.chosen(range(len(i))).batch for i in given if isinstance(i, Items)]
    return max(made, key=len, default=None)


def in_words(found: Forecast, played: float, config: TrainConfig) -> str:
    """Return a forecast in one line."""
    seconds = played + found.seconds
    parts = ", ".join(f"{part} {size / GIGA:.2g}" for part, size in found.memory.items())
    return (
        f"an update takes about {_time(seconds)}: {_time(played)} to play and "
        f"{_time(found.seconds)} to learn from {found.tokens:,} tokens ({found.repeated:,} where "
        f"beginnings are not shared); {_run(seconds, config)}"
        f"memory about {sum(found.memory.values()) / GIGA:.2g} GiB: {parts}"
    )


def _run(seconds: float, config: TrainConfig) -> str:
    """Return what that makes of the whole run."""
    if config.steps:
        return f"{config.steps:,} updates about {_time(seconds * config.steps)}; "
    if config.budget_seconds:
        return f"about {max(1, round(config.budget_seconds / seconds)):,} updates in the run; "
    return ""


def _time(seconds: float) -> str:
    """Return a duration in words.

    >>> _time(0.42), _time(8.4), _time(100), _time(9000)
    ('0.4 s', '8 s', '100 s', '2.5 h')
    """
    if seconds < 2:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
