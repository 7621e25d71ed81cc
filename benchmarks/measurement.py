"""The measurement of an agent: a number, its uncertainty, and the data behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from coevo.benchmarks.outcomes import SeatOutcome
from coevo.benchmarks.statistics.normalise import References, normalise
from coevo.benchmarks.statistics.standard_errors import suite_score
from coevo.benchmarks.usage import Usage
from coevo.envs.core.config import read

RETURN = "mean_return"
"""Metric of a measurement that is a mean payoff and nothing more special."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One agent measured once: in an environment, a scenario, a level, or one seat of them."""

    env: str = ""
    agent: str = ""
    opponent: str | None = None
    """Name of the agent in the other seats; None where the agent had all of them."""
    metric: str = RETURN
    higher_is_better: bool = True
    value: float | None = None
    """The result; None where the measurement failed."""
    interval: tuple[float, float] | None = None
    """95 % interval over tasks (Student's t); None for an exact value, or under two tasks."""
    exact: bool = False
    """Whether the value is exact: then nothing is left to chance."""
    normalised: float | None = None
    """(value - random) / (oracle - random), unclipped; None without references."""
    normalised_interval: tuple[float, float] | None = None
    """The same for the interval, lower bound first."""
    references: Mapping[str, float] | None = None
    """What counts as 0 (random) and as 1 (oracle)."""
    source: str = ""
    """How the references were found, or why there are none."""
    episodes: int = 0
    """Episodes that counted; in self-play each counts once per seat."""
    errors: int = 0
    win_rate: float | None = None
    """Share of episodes with the single highest score; None where a task is not a contest."""
    draw_rate: float | None = None
    """Share of episodes with a shared highest score."""
    loss_rate: float | None = None
    """Share of episodes in which another seat scored more."""
    forfeit_rate: float = 0.0
    illegal_rate: float = 0.0
    """Share of its replies that were not legal moves."""
    unread_rate: float = 0.0
    """Share of its replies of which nothing was read: no move, answer or verdict."""
    near_miss_rate: float = 0.0
    """Share of its replies that came close to a legal move and were not read."""
    truncated_rate: float = 0.0
    """Share of episodes that reached the limit of rounds."""
    mean_turns: float = 0.0
    """Replies per episode, of all seats together."""
    mean_tokens: float = 0.0
    """Tokens per episode that the agent read and wrote; what it reads again counts again."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Temperature and max_new_tokens of the agent; empty for scripts."""
    usage: Usage = field(default_factory=Usage)
    task_scores: tuple[float, ...] = ()
    """Mean score on each task: the independent values behind the interval."""
    seats: Mapping[str, Measurement] = field(default_factory=dict)
    """The same by the agent's seat."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What only this kind of measurement has, as plain JSON values."""
    failed: str = ""
    """Why there is no value; empty where there is one."""

    @property
    def score(self) -> float | None:
        """Win rate with draws counted half, so that equals score 0.5; None without a contest."""
        if self.win_rate is None or self.draw_rate is None:
            return None
        return self.win_rate + self.draw_rate / 2

    def scaled(self, references: References | None, source: str = "") -> Self:
        if references is None or self.value is None:
            return replace(self, source=source)

        def at(*values: float) -> list[float]:
            return normalise(values, *references).tolist()

        low_high = None if self.interval is None else sorted(at(*self.interval))
        return replace(
            self,
            normalised=at(self.value)[0],
            normalised_interval=None if low_high is None else (low_high[0], low_high[1]),
            references=references._asdict(),
            source=source,
        )

    def to_dict(self) -> dict[str, Any]:
        table = asdict(self)
        for pair in ("interval", "normalised_interval"):
            table[pair] = None if table[pair] is None else list(table[pair])
        table["task_scores"] = list(self.task_scores)
        table["seats"] = {s: _short(own.to_dict()) for s, own in self.seats.items()}
        return table

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return read(cls, dict(data))


RATES = {
    "forfeit_rate": "forfeited",
    "illegal_rate": "illegal replies",
    "unread_rate": "unread",
    "near_miss_rate": "near misses",
}
"""Rate of a measurement -> head of its column; all but the first are shares of its replies."""
OF_A_SEAT = (
    *("value", "interval", "episodes", "win_rate", "draw_rate", "loss_rate"),
    *RATES,
)
"""Fields in which the seats of one measurement differ."""


def _short(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: table[name] for name in OF_A_SEAT}


def of_outcomes(found: Sequence[SeatOutcome], contest: bool) -> Measurement:
    """Return the mean score over outcomes; without a contest there are no wins."""
    point, interval = mean_and_interval([o.score for o in found], [o.task for o in found])
    win, draw, loss = (sum(o.result == r for o in found) / len(found) for r in (1, 0, -1))
    replies = max(sum(o.replies for o in found), 1)
    return Measurement(
        value=point,
        interval=interval,
        episodes=len(found),
        win_rate=win if contest else None,
        draw_rate=draw if contest else None,
        loss_rate=loss if contest else None,
        forfeit_rate=sum(o.forfeited for o in found) / len(found),
        illegal_rate=sum(o.illegal for o in found) / replies,
        unread_rate=sum(o.unread for o in found) / replies,
        near_miss_rate=sum(o.near_misses for o in found) / replies,
        task_scores=task_means(found),
    )


def task_means(found: Sequence[SeatOutcome]) -> tuple[float, ...]:
    """Return the mean score of every task, in the order in which the tasks came."""
    of: dict[int, list[float]] = {}
    for outcome in found:
        of.setdefault(outcome.task, []).append(outcome.score)
    return tuple(float(np.mean(scores)) for scores in of.values())


def mean_and_interval(
    values: Sequence[float], clusters: Sequence[int] | None = None
) -> tuple[float, tuple[float, float] | None]:
    """Return a mean with its 95 % interval, clustered by task; None under two clusters."""
    found = suite_score(values, clusters).interval
    return found.point, None if math.isnan(found.low) else (found.low, found.high)
