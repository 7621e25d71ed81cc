"""What is known about the task: outcomes so far, as counts that may fade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coevo.envs.core.errors import ConfigError, DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TaskStats:
    """Outcomes of P task, each outcome between 0 (failure) and 1 (success).

    Raises:
        ConfigError: The arrays differ in length, or hold more successes than trials.
    """

    successes_P: Floats
    """Sum of the outcomes; older ones may count less."""
    trials_P: Floats
    """Number of outcomes, faded alike."""
    last_mean_P: Floats
    """Mean outcome of the latest visit; NaN where there was none."""
    visits_P: Ints
    """Updates in which the task was played."""

    def __post_init__(self) -> None:
        for name, kind in _FIELDS.items():
            own = np.array(getattr(self, name), dtype=kind)
            own.setflags(write=False)
            object.__setattr__(self, name, own)
        shapes = {name: getattr(self, name).shape for name in _FIELDS}
        if self.successes_P.ndim != 1 or len(set(shapes.values())) != 1:
            raise ConfigError(f"statistics of tasks have shapes {shapes}; expected one [P]")
        room = self.trials_P * (1 + 1e-9)
        if not np.all((self.successes_P >= 0) & (self.successes_P <= room)):
            raise ConfigError("successes_P must lie between 0 and trials_P for every task")
        seen = self.last_mean_P[~np.isnan(self.last_mean_P)]
        if not np.all((seen >= 0) & (seen <= 1)):
            raise ConfigError("last_mean_P must be between 0 and 1, or NaN where nothing was seen")

    def __len__(self) -> int:
        return len(self.successes_P)

    @classmethod
    def unseen(cls, tasks: int) -> TaskStats:
        """Return the statistics of tasks that were never played.

        >>> TaskStats.unseen(2).trials_P.tolist()
        [0.0, 0.0]
        """
        zeros_P = np.zeros(tasks)
        return cls(zeros_P, zeros_P, np.full(tasks, np.nan), np.zeros(tasks, np.int64))

    @classmethod
    def of_rates(cls, rate_P: ArrayLike, trials: float = 8.0) -> TaskStats:
        """Return the statistics of tasks that were visited once and had these success rates.

        >>> TaskStats.of_rates([0.25, 1.0]).successes_P.tolist()
        [2.0, 8.0]
        """
        p_P = np.asarray(rate_P, dtype=np.float64)
        ones_P = np.ones(len(p_P))
        return cls(p_P * trials, ones_P * trials, p_P, ones_P.astype(np.int64))


class TaskHistory:
    """The outcomes of a fixed list of tasks, with two speeds of forgetting.

    At every update the evidence of all tasks fades, (s, n) <- lam_g (s, n); where a task is
    visited with k successes in m episodes, (s, n) <- lam_v (s, n) + (k, m). Both 1: plain counts.
    Evidence fades and a prior that an allocator adds does not, so that a posterior returns to
    its prior; the note on VADE fades the prior with it at a visit, which lets a task that always
    fails drop below the prior.

    Args:
        size: number of tasks.
        lam_v: what a visit leaves of older evidence.
        lam_g: what every update leaves of all evidence.
    """

    def __init__(
        self,
        size: int,
        *,
        lam_v: float = 1.0,
        lam_g: float = 1.0,
    ) -> None:
        if size < 1:
            raise ConfigError(f"a history of {size} tasks; it needs one or more")
        self.lam_v, self.lam_g = lam_v, lam_g
        self._take(TaskStats.unseen(size))

    def __len__(self) -> int:
        return len(self._arrays["visits_P"])

    def _take(self, stats: TaskStats) -> None:
        self._arrays = {name: getattr(stats, name).copy() for name in _FIELDS}

    def observe(self, task: int, successes: Sequence[float]) -> None:
        """Take in the successes of one visit to one task, 0..1; between are fractions.

        Raises:
            ConfigError: There is no such task, or a success is outside 0..1.

        >>> history = TaskHistory(2)
        >>> history.observe(1, [1.0, 0.0, 0.0, 1.0])
        >>> history.stats().successes_P.tolist(), history.stats().last_mean_P.tolist()
        ([0.0, 2.0], [nan, 0.5])
        """
        if not 0 <= task < len(self):
            raise ConfigError(f"task {task} is not one of the {len(self)} of this history")
        if not len(successes):
            return
        won = np.asarray(successes, dtype=np.float64)
        if not np.all((won >= 0) & (won <= 1)):
            raise ConfigError(
                f"task {task} has successes from {won.min()} to {won.max()}; they lie in 0..1"
            )
        for name, fresh in (("successes_P", won.sum()), ("trials_P", len(won))):
            self._arrays[name][task] = self.lam_v * self._arrays[name][task] + fresh
        self._arrays["last_mean_P"][task] = won.mean()
        self._arrays["visits_P"][task] += 1

    def fade(self) -> None:
        """Let all evidence lose weight once; to be called once per update."""
        self._arrays["successes_P"] *= self.lam_g
        self._arrays["trials_P"] *= self.lam_g

    def after_update(self, task_N: Sequence[int], success_N: Sequence[float]) -> None:
        """Take in all episodes of one update: fade once, then observe every task that was played.

        >>> history = TaskHistory(2, lam_g=0.5)
        >>> history.after_update([0, 1, 0], [1.0, 0.0, 1.0])
        >>> history.after_update([1], [1.0])
        >>> history.stats().trials_P.tolist()
        [1.0, 1.5]
        """
        if len(task_N) != len(success_N):
            raise ConfigError(f"{len(task_N)} tasks and {len(success_N)} successes must agree")
        self.fade()
        played: dict[int, list[float]] = {}
        for task, success in zip(task_N, success_N, strict=True):
            played.setdefault(int(task), []).append(float(success))
        for task, successes in played.items():
            self.observe(task, successes)

    def stats(self, at: Sequence[int] | None = None) -> TaskStats:
        """Return a copy of the statistics, of all tasks or of those at some positions."""
        where = np.arange(len(self)) if at is None else np.asarray(at, dtype=np.int64)
        return TaskStats(**{name: array[where] for name, array in self._arrays.items()})

    def state_dict(self) -> dict[str, Any]:
        state = {name: array.tolist() for name, array in self._arrays.items()}
        state["last_mean_P"] = [None if x != x else x for x in state["last_mean_P"]]
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave; DataError where it is of other tasks, or no state."""
        try:
            mean_P = [np.nan if x is None else x for x in state["last_mean_P"]]
            loaded = TaskStats(**{name: state[name] for name in _FIELDS} | {"last_mean_P": mean_P})
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"not the state of tasks: {type(error).__name__}: {error}") from None
        if len(loaded) != len(self):
            raise DataError(f"the state is of {len(loaded)} tasks, this history has {len(self)}")
        self._take(loaded)


_FIELDS = {
    "successes_P": np.float64,
    "trials_P": np.float64,
    "last_mean_P": np.float64,
    "visits_P": np.int64,
}
