"""Replay: buffers that bring plays of earlier updates back.

The training loop asks every buffer the same questions: which whole groups to mix into this update
(`mix`), what was just played (`add`), and whether a separate pass over old plays is due (`extra`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.estimators.option import Table, check_range
from coevo.trainers.samplers.kept import Kept, alone, check_replayable
from coevo.trainers.samplers.memory import WithoutMemory
from coevo.trainers.samplers.schedules import replay_weight
from coevo.trainers.samplers.starts import Floats

EPS = 1e-6
"""Added to a deviation that divides, as in the estimators."""


@dataclass(frozen=True)
class Mix:
    """What an update is made of."""

    fresh: int
    """Groups to be played now."""
    replayed: tuple[tuple[Kept, ...], ...] = ()
    """Whole groups of earlier updates."""

    def join(
        self, episodes: Sequence[Episode], groups: Sequence[int]
    ) -> tuple[list[Episode], list[int]]:
        """Put the replayed episodes behind the fresh ones, under group keys of their own."""
        after = max(groups, default=-1) + 1
        old = [(k.episode, after + i) for i, kept in enumerate(self.replayed) for k in kept]
        return [*episodes, *(e for e, _ in old)], [*groups, *(g for _, g in old)]


@dataclass(frozen=True)
class Extra:
    """A pass over old plays that are not part of the update's batch."""

    items: tuple[Kept, ...]
    """In random order, with advantages recomputed; each has one seat that learns."""
    weight: float
    """Factor on the loss of this pass."""
    baseline: float
    """What rewards were compared with."""
    taken: int
    """Plays that left the buffer for it, used or not."""

    def episodes(self) -> list[Episode]:
        """Give one episode per item in which only the item's seat has tokens to learn from."""
        return [alone(k.episode, k.seat) if k.seat else k.episode for k in self.items]


class Replay(WithoutMemory):
    """Nothing comes back: every update learns from its own plays only."""

    by_seat: ClassVar[bool] = False
    """Whether `add` takes one item per seat that wrote, instead of one per play."""

    def mix(self, groups: int, step: int, rng: np.random.Generator) -> Mix:
        """Decide which of an update's groups are played and which come back."""
        return Mix(groups)

    def add(self, items: Sequence[Kept]) -> None:
        """Take in the fresh plays of one update, failures included, with their advantages."""

    def extra(self, step: int, rng: np.random.Generator) -> Extra | None:
        """Give the separate pass that is due after this update, or None."""
        return None

    def reincarnates(self, step: int) -> bool:
        """Tell whether the reference becomes the current policy before this update."""
        return False


@dataclass(kw_only=True)
class Remix(Replay):
    """Early updates learn from groups of the last policies too (ReMix).

    Every group of an update is, with chance `share`, one of the last `last` updates instead of a
    fresh one, as far as there are any; none comes twice in one update. Whole groups come back, so
    that group statistics compare plays of one policy. From update `until` on everything is fresh,
    and at that update the reference becomes the current policy.
    Several passes per update are `optim.epochs`, the KL schedule is `convex_weight`.
    """

    share: float = 0.4
    """Chance that a group comes back instead of being played."""
    last: int = 2
    """Updates that a group can come back after."""
    until: int = 50
    """Update at which replay ends (published: 50 or 100)."""
    _groups: dict[tuple[int, int], list[Kept]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        check_range("share", self.share, 0.0, 1.0)
        if self.last < 1 or self.until < 1:
            raise ConfigError(f"last={self.last} and until={self.until} must both be at least 1")

    def mix(self, groups: int, step: int, rng: np.random.Generator) -> Mix:
        """Draw how many groups come back, Binomial(groups, share), and which; one is fresh."""
        self._forget(step)
        if step >= self.until:
            return Mix(groups)
        stored = [g for (played, _), g in self._groups.items() if played < step]
        count = min(int(rng.binomial(groups, self.share)), len(stored), groups - 1)
        at = rng.choice(len(stored), count, replace=False) if count else ()
        return Mix(groups - count, tuple(tuple(stored[i]) for i in at))

    def add(self, items: Sequence[Kept]) -> None:
        """Store the fresh groups; those that can no longer come back go."""
        check_replayable(items, one_seat=False)
        for item in items:
            self._groups.setdefault((item.step, item.group), []).append(item)
        if self._groups:
            self._forget(max(played for played, _ in self._groups) + 1)

    def reincarnates(self, step: int) -> bool:
        """Tell whether this is the update at which replay ends."""
        return step == self.until

    def state_dict(self) -> dict[str, Any]:
        """Give the stored plays."""
        return {"items": [k.to_dict() for kept in self._groups.values() for k in kept]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        items = _items(state)
        self._groups.clear()
        for item in items:
            self._groups.setdefault((item.step, item.group), []).append(item)

    def _forget(self, step: int) -> None:
        first = np.inf if step >= self.until else step - self.last
        for key in [k for k in self._groups if k[0] < first]:
            del self._groups[key]


@dataclass(kw_only=True)
class Spear(Replay):
    """Successes come back in passes of their own, measured against what is normal now (SPEAR).

    Plays with an advantage above 0 are stored. Once there are more than 1.5 times `capacity`, all
    are taken out; A = R - median of the means of recent groups replaces their old advantages,
    those with A >= 0 are kept, and a random part of them, a power of two and at most `capacity`,
    is learnt from once. The released code builds the micro-batches of that pass from the
    on-policy batch; here they are the replayed plays.
    """

    by_seat: ClassVar[bool] = True

    capacity: int = 2048
    """Most plays of a pass; a pass is due above 1.5 times as many."""
    baseline: int = 10240
    """Groups whose means are remembered."""
    older: int = 5
    """Plays that are older than this many updates are dropped."""
    coef: float = 1.0
    """Largest weight of a pass."""
    horizon: int = 200
    """Updates until that weight is reached (published: 100 to 300)."""
    scale: bool = False
    """Whether A is divided by the median deviation of the groups."""
    _items: list[Kept] = field(init=False, default_factory=list)
    _means: deque[float] = field(init=False)
    _stds: deque[float] = field(init=False)

    def __post_init__(self) -> None:
        for name in ("capacity", "baseline", "older", "horizon"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)} must be at least 1")
        check_range("coef", self.coef, 0.0, float("inf"))
        self._means, self._stds = deque(maxlen=self.baseline), deque(maxlen=self.baseline)

    def add(self, items: Sequence[Kept]) -> None:
        """Store the successes; remember mean and deviation of every group, failures included."""
        good = [k for k in items if k.advantage > 0]
        check_replayable(good, one_seat=True)
        groups: dict[tuple[int, int, str], list[float]] = {}
        for item in items:
            groups.setdefault((item.step, item.group, item.seat), []).append(item.reward)
        for rewards in groups.values():
            self._means.append(float(np.mean(rewards)))
            self._stds.append(float(np.std(rewards, ddof=1)) if len(rewards) > 1 else 0.0)
        self._items += good

    def extra(self, step: int, rng: np.random.Generator) -> Extra | None:
        """Empty the buffer into a pass, if it is full enough."""
        self._items = [k for k in self._items if step - k.step <= self.older]
        if len(self._items) <= 1.5 * self.capacity:
            return None
        taken, self._items = self._items, []
        a_N = recalibrate(
            [k.reward for k in taken], list(self._means), list(self._stds) if self.scale else None
        )
        good = [replace(k, advantage=float(a)) for k, a in zip(taken, a_N, strict=True) if a >= 0]
        size = _power_of_two(min(len(good), self.capacity))
        chosen = tuple(good[i] for i in rng.permutation(len(good))[:size])
        weight = replay_weight(step, horizon=self.horizon, coef=self.coef)
        return Extra(chosen, weight, float(np.median(self._means)), len(taken))

    def state_dict(self) -> dict[str, Any]:
        """Give the stored plays and the remembered groups."""
        items = [k.to_dict() for k in self._items]
        return {"items": items, "means": list(self._means), "stds": list(self._stds)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        items = _items(state)
        if not len(state.get("means", ())) == len(state.get("stds", "?")):
            raise DataError("the state of a spear buffer needs as many means as stds")
        self._items = items
        for name, into in (("means", self._means), ("stds", self._stds)):
            into.clear()
            into.extend(map(float, state[name]))


def recalibrate(reward_N: ArrayLike, mean_K: ArrayLike, std_K: ArrayLike | None = None) -> Floats:
    """Compare rewards with the median of recent group means: A = R - median(mean_K).

    With deviations, A is divided by their median. Where that median is 0, as when most groups
    fail throughout, it says nothing about the unit and A stays undivided (ours).

    >>> recalibrate([1.0, 0.5, 0.25], [0.2, 0.4, 0.6, 0.5]).round(4).tolist()
    [0.55, 0.05, -0.2]
    """
    mean_K = np.asarray(mean_K, dtype=np.float64)
    if not mean_K.size:
        raise ConfigError("rewards cannot be compared with the median of no group means")
    a_N = np.asarray(reward_N, dtype=np.float64) - np.median(mean_K)
    unit = 0.0 if std_K is None else float(np.median(np.asarray(std_K, dtype=np.float64)))
    return np.asarray(a_N / (unit + EPS) if unit > 0 else a_N)


REPLAY: Table = {"none": Replay, "remix": Remix, "spear": Spear}


def _items(state: Mapping[str, Any]) -> list[Kept]:
    if not isinstance(state.get("items"), list):
        raise DataError(f"the state of a replay buffer has the key items, got {sorted(state)}")
    return [Kept.from_dict(item) for item in state["items"]]


def _power_of_two(most: int) -> int:
    return 1 << most.bit_length() - 1 if most else 0
