"""Replay: buffers that bring episodes of earlier updates back.

The training loop asks every buffer the same questions: which whole groups to mix into this update
(`mix`), what was just played (`add`), and whether a separate pass over old episodes is due
(`extra`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.samplers.kept import Kept, WithoutMemory, alone, check_replayable
from coevo.trainers.samplers.tasks import Floats

EPS = 1e-6
"""Added to a deviation that divides, as in the baselines."""


@dataclass(frozen=True)
class Mix:
    """What an update is made of."""

    fresh: int
    """Groups to be played now."""
    replayed: tuple[tuple[Kept, ...], ...] = ()

    def join(
        self, episodes: Sequence[Episode], groups: Sequence[int]
    ) -> tuple[list[Episode], list[int]]:
        """Put the replayed episodes behind the fresh ones, under group keys of their own."""
        after = max(groups, default=-1) + 1
        old = [(k.episode, after + i) for i, kept in enumerate(self.replayed) for k in kept]
        return [*episodes, *(e for e, _ in old)], [*groups, *(g for _, g in old)]


@dataclass(frozen=True)
class Extra:
    """A pass over old episodes that are not part of the update's batch."""

    items: tuple[Kept, ...]
    """In random order, with advantages recomputed; each has one seat that learns."""
    weight: float
    """Factor on the loss of this pass."""
    baseline: float
    """What rewards were compared with."""
    taken: int
    """Plays that left the buffer for it, used or not."""

    def episodes(self) -> list[Episode]:
        """Return one episode per item in which only the item's seat has tokens to learn from."""
        return [alone(k.episode, k.seat) if k.seat else k.episode for k in self.items]


class HasReference(Protocol):
    """A learner with a reference policy."""

    def move_reference(self) -> None:
        """Make the current policy the reference."""


class ReplayBuffer(WithoutMemory):
    """Nothing comes back: every update learns from its own episodes only."""

    config: Any = None
    """The settings that it goes by."""
    remembers: ClassVar[bool] = False
    """Whether `add` keeps anything."""
    by_seat: ClassVar[bool] = False
    """Whether `add` takes one item per seat that wrote, instead of one per play."""

    def mix(self, groups: int, step: int, rng: np.random.Generator) -> Mix:
        """Decide which of an update's groups are played and which come back."""
        return Mix(groups)

    def add(self, items: Sequence[Kept]) -> None:
        """Take in the fresh episodes of one update, failures included, with their advantages."""

    def extra(self, step: int, rng: np.random.Generator) -> Extra | None:
        """Return the separate pass that is due after this update, or None."""
        return None

    def before_update(self, step: int, learners: Iterable[HasReference]) -> None:
        """Change the learners before an update, such as their reference policies."""


@config
class RemixReplay:
    """Early updates learn from groups of the last policies too (ReMix).

    Every group of an update is, with chance `share`, one of the last `last` updates instead of a
    fresh one, as far as there are any; none comes twice in one update. Whole groups come back, so
    that group statistics compare episodes of one policy. From update `until` on everything is
    fresh, and at that update the reference becomes the current policy.
    Several passes per update are `optim.epochs`, the KL schedule is `convex_weight`.
    """

    moves_reference: ClassVar[bool] = True
    """Whether the reference becomes the current policy on the way."""
    mixes: ClassVar[bool] = True
    """Whether groups come back instead of being played."""
    name: Literal["remix_replay"] = "remix_replay"
    share: Annotated[float, real(0, 1)] = 0.4
    """Chance that a group comes back instead of being played."""
    last: Annotated[int, whole(1)] = 2
    """Updates that a group can come back after."""
    until: Annotated[int, whole(1)] = 50
    """Update at which replay ends (published: 50 or 100)."""

    def buffer(self) -> RemixBuffer:
        return RemixBuffer(self)


class RemixBuffer(ReplayBuffer):
    """The episodes that `remix_replay` keeps."""

    remembers = True

    def __init__(self, config: RemixReplay) -> None:
        self.config = config
        self._groups: dict[tuple[int, int], list[Kept]] = {}

    def mix(self, groups: int, step: int, rng: np.random.Generator) -> Mix:
        """Draw how many groups come back, Binomial(groups, share), and which; one is fresh."""
        self._forget(step)
        if step >= self.config.until:
            return Mix(groups)
        stored = [g for (played, _), g in self._groups.items() if played < step]
        count = min(int(rng.binomial(groups, self.config.share)), len(stored), groups - 1)
        at = rng.choice(len(stored), count, replace=False) if count else ()
        return Mix(groups - count, tuple(tuple(stored[i]) for i in at))

    def add(self, items: Sequence[Kept]) -> None:
        check_replayable(items, one_seat=False)
        for item in items:
            self._groups.setdefault((item.step, item.group), []).append(item)
        if self._groups:
            self._forget(max(played for played, _ in self._groups) + 1)

    def before_update(self, step: int, learners: Iterable[HasReference]) -> None:
        if step == self.config.until:
            for learner in learners:
                learner.move_reference()

    def state_dict(self) -> dict[str, Any]:
        return {"items": [k.to_dict() for kept in self._groups.values() for k in kept]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        items = _items(state)
        self._groups.clear()
        for item in items:
            self._groups.setdefault((item.step, item.group), []).append(item)

    def _forget(self, step: int) -> None:
        first = np.inf if step >= self.config.until else step - self.config.last
        for key in [k for k in self._groups if k[0] < first]:
            del self._groups[key]


@config
class SpearReplay:
    """Successes come back in passes of their own, measured against what is normal now (SPEAR).

    Plays with an advantage above 0 are stored. Once there are more than 1.5 times `capacity`, all
    are taken out; A = R - median of the means of recent groups replaces their old advantages,
    those with A >= 0 are kept, and a random part of them, a power of two and at most `capacity`,
    is learnt from once. The released code builds the micro-batches of that pass from the
    on-policy batch; here they are the replayed episodes.
    """

    moves_reference: ClassVar[bool] = False
    mixes: ClassVar[bool] = False
    name: Literal["spear_replay"] = "spear_replay"
    capacity: Annotated[int, whole(1)] = 2048
    """Most episodes of a pass; a pass is due above 1.5 times as many."""
    baseline: Annotated[int, whole(1)] = 10240
    """Groups whose means are remembered."""
    older: Annotated[int, whole(1)] = 5
    """Plays that are older than this many updates are dropped."""
    coef: Annotated[float, real(0)] = 1.0
    """Weight of a pass."""
    scale: bool = False
    """Whether A is divided by the median deviation of the groups."""

    def buffer(self) -> SpearBuffer:
        return SpearBuffer(self)


class SpearBuffer(ReplayBuffer):
    """The episodes that `spear_replay` keeps."""

    remembers = True
    by_seat = True

    def __init__(self, config: SpearReplay) -> None:
        self.config = config
        self._items: list[Kept] = []
        self._means: deque[float] = deque(maxlen=config.baseline)
        self._stds: deque[float] = deque(maxlen=config.baseline)

    def add(self, items: Sequence[Kept]) -> None:
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
        self._items = [k for k in self._items if step - k.step <= self.config.older]
        if len(self._items) <= 1.5 * self.config.capacity:
            return None
        taken, self._items = self._items, []
        a_N = recalibrate(
            [k.reward for k in taken],
            list(self._means),
            list(self._stds) if self.config.scale else None,
        )
        good = [replace(k, advantage=float(a)) for k, a in zip(taken, a_N, strict=True) if a >= 0]
        size = _power_of_two(min(len(good), self.config.capacity))
        chosen = tuple(good[i] for i in rng.permutation(len(good))[:size])
        return Extra(chosen, self.config.coef, float(np.median(self._means)), len(taken))

    def state_dict(self) -> dict[str, Any]:
        items = [k.to_dict() for k in self._items]
        return {"items": items, "means": list(self._means), "stds": list(self._stds)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
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


Replay = Annotated[RemixReplay | SpearReplay, choice()]


def _items(state: Mapping[str, Any]) -> list[Kept]:
    if not isinstance(state.get("items"), list):
        raise DataError(f"the state of a replay buffer has the key items, got {sorted(state)}")
    return [Kept.from_dict(item) for item in state["items"]]


def _power_of_two(most: int) -> int:
    return 1 << most.bit_length() - 1 if most else 0
