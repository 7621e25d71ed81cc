"""Select: which groups an update learns from, and the further episodes until there are enough.

Every component has the form `(score_N, group_N, seat_N) -> kept group keys`, where a score
is one trajectory's outcome in the accuracy component: judge the shaped reward and a length penalty
makes every group look informative. Refilling drops hard and easy tasks, so the tasks that are
learnt from are not those that were asked for; `Refilled.metrics` says by how much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import Annotated, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.trainers.samplers.tasks import Ints

G = TypeVar("G", bound=Sized)


class RefillError(ConfigError):
    """Too few informative groups were found in the generation batches that were allowed."""


@config
class KeepAll:
    """Keep every group.

    >>> KeepAll()([1.0, 1.0, 0.0], [4, 4, 7]).tolist()
    [4, 7]
    """

    tries: ClassVar[int] = 1
    refills: ClassVar[bool] = False
    """Whether groups are dropped, so that others must be played."""
    name: Literal["keep_all"] = "keep_all"

    def __call__(
        self, score_N: ArrayLike, group_N: ArrayLike, seat_N: ArrayLike | None = None
    ) -> Ints:
        return np.unique(np.asarray(group_N, dtype=np.int64))


@config
class KeepDynamic:
    """Keep the groups whose outcomes differ and whose mean lies strictly in low..high (DAPO).

    With outcomes of 0 and 1 and the default bounds this is 0 < accuracy < 1. Narrower bounds also
    drop nearly solved and nearly hopeless tasks. For a component with another range give its
    ends, e.g. low=-1 for a payoff.

    Raises:
        ConfigError: An outcome is outside 0..1 though the bounds are those of an accuracy.

    >>> KeepDynamic()([1.0, 0.0, 1.0, 1.0, 0.0, 0.0], [0, 0, 1, 1, 2, 2]).tolist()
    [0]
    """

    refills: ClassVar[bool] = True
    name: Literal["keep_dynamic"] = "keep_dynamic"
    low: Annotated[float, real()] = 0.0
    """Mean that is too low."""
    high: Annotated[float, real()] = 1.0
    """Mean that is too high."""
    tries: Annotated[int, whole(1)] = 10
    """Generation batches until `refill` gives up."""

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ConfigError(f"low={self.low} must be below high={self.high}")

    def __call__(
        self, score_N: ArrayLike, group_N: ArrayLike, seat_N: ArrayLike | None = None
    ) -> Ints:
        score, group = np.asarray(score_N, dtype=np.float64), np.asarray(group_N, dtype=np.int64)
        seat = np.zeros_like(group) if seat_N is None else np.asarray(seat_N, dtype=np.int64)
        if not score.shape == group.shape == seat.shape or score.ndim != 1:
            raise ConfigError(
                f"scores {score.shape}, groups {group.shape} and seats {seat.shape} must be one [N]"
            )
        _check_outcomes(score, self.low, self.high)
        pairs_K2, at_N = np.unique(np.stack([group, seat], axis=1), axis=0, return_inverse=True)
        lowest, highest = (np.full(len(pairs_K2), x) for x in (np.inf, -np.inf))
        np.minimum.at(lowest, at_N.ravel(), score)
        np.maximum.at(highest, at_N.ravel(), score)
        count_K = np.bincount(at_N.ravel(), minlength=len(pairs_K2))
        mean_K = np.bincount(at_N.ravel(), score, minlength=len(pairs_K2)) / count_K
        kept_K = (highest > lowest) & (self.low < mean_K) & (mean_K < self.high)
        return np.unique(pairs_K2[kept_K, 0])


Selection = Annotated[KeepAll | KeepDynamic, choice()]


@dataclass(frozen=True)
class Refilled(Generic[G]):
    """What refilling found, and what it cost."""

    groups: tuple[G, ...]
    """Exactly as many as were needed, in the order in which they were played."""
    kept: int
    """Groups that passed, the surplus of the last batch included."""
    drawn: int
    episodes: int
    """Plays of all drawn groups."""
    batches: int

    @property
    def wasted(self) -> float:
        """Share of the episodes that no update learns from."""
        return 1.0 - sum(map(len, self.groups)) / self.episodes if self.episodes else 0.0

    def metrics(self) -> dict[str, float]:
        return {
            "select/wasted": self.wasted,
            "select/dropped_groups": 1.0 - self.kept / self.drawn if self.drawn else 0.0,
            "select/batches": float(self.batches),
        }


def refill(
    draw: Callable[[int], Sequence[G]],
    needed: int,
    keep: Callable[[Sequence[G]], Sequence[bool]],
    tries: int,
) -> Refilled[G]:
    """Play generation batches until enough groups pass; cut the surplus off.

    Args:
        draw: episodes batch number 0, 1, ... and gives its groups.
        needed: groups that the update wants.
        keep: says for every group of a batch whether it passes.
        tries: batches allowed.

    Raises:
        RefillError: After `tries` batches too few passed; the message has the counts.

    >>> found = refill(lambda batch: [(batch, 0), (batch, 1)], 2, lambda gs: [True, False], 5)
    >>> found.groups, found.wasted
    (((0, 0), (1, 0)), 0.5)
    """
    if needed < 1 or tries < 1:
        raise ConfigError(f"needed={needed} groups and tries={tries} must both be at least 1")
    passed: list[G] = []
    drawn = episodes = 0
    for batch in range(tries):
        groups = draw(batch)
        passed += [g for g, kept in zip(groups, keep(groups), strict=True) if kept]
        drawn, episodes = drawn + len(groups), episodes + sum(map(len, groups))
        if len(passed) >= needed:
            return Refilled(tuple(passed[:needed]), len(passed), drawn, episodes, batch + 1)
    raise RefillError(
        f"only {len(passed)} of the {needed} groups needed passed the selection after {tries} "
        f"generation batches ({drawn} groups, {episodes} episodes); the task may be too easy or "
        "too hard. Use larger groups, more tries, or select=keep_all"
    )


def _check_outcomes(score_N: np.ndarray, low: float, high: float) -> None:
    if not np.all(np.isfinite(score_N)):
        raise ConfigError("an outcome is not a finite number: drop episodes that were not scored")
    inside = (score_N >= 0) & (score_N <= 1)
    if low >= 0 and high <= 1 and not inside.all():
        raise ConfigError(
            f"the outcome {score_N[~inside][0]} is no accuracy, yet low={low} and high={high} are "
            "bounds of one; give the ends of the component's range, such as low=-1"
        )
