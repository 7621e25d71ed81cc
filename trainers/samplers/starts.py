"""What is known about the start states: outcomes so far, as counts that may fade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.estimators.option import check_range

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class StartStats:
    """Outcomes of P start states, each outcome between 0 (failure) and 1 (success).

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
    """Updates in which the start was played."""

    def __post_init__(self) -> None:
        for name, kind in _FIELDS.items():
            own = np.array(getattr(self, name), dtype=kind)
            own.setflags(write=False)
            object.__setattr__(self, name, own)
        shapes = {name: getattr(self, name).shape for name in _FIELDS}
        if self.successes_P.ndim != 1 or len(set(shapes.values())) != 1:
            raise ConfigError(f"statistics of starts have shapes {shapes}; expected one [P]")
        room = self.trials_P * (1 + 1e-9)
        if not np.all((self.successes_P >= 0) & (self.successes_P <= room)):
            raise ConfigError("successes_P must lie between 0 and trials_P for every start")
        seen = self.last_mean_P[~np.isnan(self.last_mean_P)]
        if not np.all((seen >= 0) & (seen <= 1)):
            raise ConfigError("last_mean_P must be between 0 and 1, or NaN where nothing was seen")

    def __len__(self) -> int:
        """Give the number of starts."""
        return len(self.successes_P)

    @classmethod
    def unseen(cls, starts: int) -> StartStats:
        """Give the statistics of starts that nobody has played.

        >>> StartStats.unseen(2).trials_P.tolist()
        [0.0, 0.0]
        """
        zeros_P = np.zeros(starts)
        return cls(zeros_P, zeros_P, np.full(starts, np.nan), np.zeros(starts, np.int64))

    @classmethod
    def of_rates(cls, rate_P: ArrayLike, trials: float = 8.0) -> StartStats:
        """Give the statistics of starts that were visited once and had these success rates.

        >>> StartStats.of_rates([0.25, 1.0]).successes_P.tolist()
        [2.0, 8.0]
        """
        p_P = np.asarray(rate_P, dtype=np.float64)
        ones_P = np.ones(len(p_P))
        return cls(p_P * trials, ones_P * trials, p_P, ones_P.astype(np.int64))


class StartHistory:
    """The outcomes of a fixed list of starts, with two speeds of forgetting.

    At every update the evidence of all starts fades, (s, n) <- lam_g (s, n); where a start is
    visited with k successes in m plays, (s, n) <- lam_v (s, n) + (k, m). Both 1: plain counts.
    Evidence fades and a prior that an allocator adds does not, so that a posterior returns to
    its prior; the note on VADE fades the prior with it at a visit, which lets a start that always
    fails drop below the prior.

    Args:
        size: number of starts.
        low: outcome that is worth 0 successes.
        high: outcome that is worth 1; outcomes between are worth a fraction.
        lam_v: what a visit leaves of older evidence.
        lam_g: what every update leaves of all evidence.
    """

    def __init__(
        self,
        size: int,
        *,
        low: float = 0.0,
        high: float = 1.0,
        lam_v: float = 1.0,
        lam_g: float = 1.0,
    ) -> None:
        if size < 1 or not low < high:
            raise ConfigError(
                f"a history of {size} starts with outcomes from {low} to {high}: it needs a start, "
                "and low must be below high"
            )
        check_range("lam_v", lam_v, 0.0, 1.0)
        check_range("lam_g", lam_g, 0.0, 1.0)
        self.low, self.high, self.lam_v, self.lam_g = low, high, lam_v, lam_g
        self._take(StartStats.unseen(size))

    def __len__(self) -> int:
        """Give the number of starts."""
        return len(self._arrays["visits_P"])

    def _take(self, stats: StartStats) -> None:
        self._arrays = {name: getattr(stats, name).copy() for name in _FIELDS}

    def observe(self, start: int, rewards: Sequence[float]) -> None:
        """Take in the outcomes of one visit to one start.

        Raises:
            ConfigError: There is no such start, or an outcome is outside low..high.

        >>> history = StartHistory(2)
        >>> history.observe(1, [1.0, 0.0, 0.0, 1.0])
        >>> history.stats().successes_P.tolist(), history.stats().last_mean_P.tolist()
        ([0.0, 2.0], [nan, 0.5])
        """
        if not 0 <= start < len(self):
            raise ConfigError(f"start {start} is not one of the {len(self)} of this history")
        if not len(rewards):
            return
        won = (np.asarray(rewards, dtype=np.float64) - self.low) / (self.high - self.low)
        if not np.all((won >= 0) & (won <= 1)):
            raise ConfigError(
                f"start {start} has outcomes from {min(rewards)} to {max(rewards)}, outside "
                f"low={self.low} and high={self.high} of the history"
            )
        for name, fresh in (("successes_P", won.sum()), ("trials_P", len(won))):
            self._arrays[name][start] = self.lam_v * self._arrays[name][start] + fresh
        self._arrays["last_mean_P"][start] = won.mean()
        self._arrays["visits_P"][start] += 1

    def fade(self) -> None:
        """Let all evidence lose weight once; to be called once per update."""
        self._arrays["successes_P"] *= self.lam_g
        self._arrays["trials_P"] *= self.lam_g

    def after_update(self, start_N: Sequence[int], reward_N: Sequence[float]) -> None:
        """Take in all plays of one update: fade once, then observe every start that was played.

        >>> history = StartHistory(2, lam_g=0.5)
        >>> history.after_update([0, 1, 0], [1.0, 0.0, 1.0])
        >>> history.after_update([1], [1.0])
        >>> history.stats().trials_P.tolist()
        [1.0, 1.5]
        """
        if len(start_N) != len(reward_N):
            raise ConfigError(f"{len(start_N)} starts and {len(reward_N)} outcomes must agree")
        self.fade()
        played: dict[int, list[float]] = {}
        for start, reward in zip(start_N, reward_N, strict=True):
            played.setdefault(int(start), []).append(float(reward))
        for start, rewards in played.items():
            self.observe(start, rewards)

    def stats(self, at: Sequence[int] | None = None) -> StartStats:
        """Give a copy of the statistics, of all starts or of those at some positions."""
        where = np.arange(len(self)) if at is None else np.asarray(at, dtype=np.int64)
        return StartStats(**{name: array[where] for name, array in self._arrays.items()})

    def state_dict(self) -> dict[str, Any]:
        """Give what a checkpoint must keep; JSON-able, with null where nothing was seen."""
        state = {name: array.tolist() for name, array in self._arrays.items()}
        state["last_mean_P"] = [None if x != x else x for x in state["last_mean_P"]]
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave.

        Raises:
            DataError: The state is of another number of starts, or is not one.
        """
        try:
            mean_P = [np.nan if x is None else x for x in state["last_mean_P"]]
            loaded = StartStats(**{name: state[name] for name in _FIELDS} | {"last_mean_P": mean_P})
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"not the state of starts: {type(error).__name__}: {error}") from None
        if len(loaded) != len(self):
            raise DataError(f"the state is of {len(loaded)} starts, this history has {len(self)}")
        self._take(loaded)


_FIELDS = {
    "successes_P": np.float64,
    "trials_P": np.float64,
    "last_mean_P": np.float64,
    "visits_P": np.int64,
}
