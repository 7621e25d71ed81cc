"""Allocate: how often every task of an update is played, so that the episodes tell more.

Every component has the form `(stats, total, rng) -> episodes_P`: integers that sum to
`total`. Ties are broken by `rng`, so that no task is favoured for its place in the list.
Groups of different sizes weigh tasks differently in a mean over rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.trainers.samplers.tasks import Floats, Ints, TaskHistory, TaskStats


class Allocator:
    """What an allocation needs and implies."""

    n_min: int
    """Plays of every task; 0 where it may leave tasks out, and then it chooses among all."""
    needs_history: ClassVar[bool] = True
    """Whether it goes by how earlier episodes of a task ended."""

    def history(self, size: int) -> TaskHistory:
        """Return a history of so many tasks."""
        return TaskHistory(size)


@config
class Uniform(Allocator):
    """Play every task equally often; a remainder goes to tasks drawn at random.

    >>> Uniform()(TaskStats.unseen(3), 12, np.random.default_rng(0)).tolist()
    [4, 4, 4]
    """

    needs_history = False
    name: Literal["uniform"] = "uniform"
    n_min: Annotated[int, whole(0)] = 1

    def __call__(self, stats: TaskStats, total: int, rng: np.random.Generator) -> Ints:
        episodes_P = minimum(len(stats), total, self.n_min)
        return evenly(episodes_P, np.arange(len(stats)), total - int(episodes_P.sum()), rng)


@config
class Knapsack(Allocator):
    """Maximise the sum of values over the tasks (Knapsack RL, arXiv 2509.25849).

    The value is concave in n, so giving the next play to the largest marginal gain is exact. The
    released dynamic program is not: it values "no further play" at 0 where the table holds the
    value of the minimum, which forces a further play on every task: (14, 7, 3) below.
    Plays beyond the sum of `knapsack_cost`, at least n_min each, go to the tasks with p = 0.

    >>> stats = TaskStats.of_rates([0.1, 0.5, 0.9])
    >>> Knapsack()(stats, 24, np.random.default_rng(0)).tolist()
    [15, 7, 2]
    """

    name: Literal["knapsack"] = "knapsack"
    n_min: Annotated[int, whole(0)] = 2
    """Plays of every task, hopeless and solved ones included."""
    n_max: Annotated[int, whole(1)] = 128
    """Most episodes of one task."""
    estimate: Literal["last", "all"] = "last"
    """P is the mean of the `last` visit, as published, or of `all` counted outcomes."""
    unseen: Annotated[float, real(0, 1)] = 0.5
    """P of a task that was not played yet (ours)."""

    def __post_init__(self) -> None:
        if self.n_min > self.n_max:
            raise ConfigError(f"n_min={self.n_min} must not be above n_max={self.n_max}")

    def __call__(self, stats: TaskStats, total: int, rng: np.random.Generator) -> Ints:
        episodes_P = minimum(len(stats), total, self.n_min, self.n_max)
        p_P = _rates(stats, self.estimate, self.unseen)
        hopeless_K = np.flatnonzero(p_P == 0)
        needed_P = np.where((p_P > 0) & (p_P < 1), np.ceil(knapsack_cost(p_P)), self.n_min)
        left = (
            max(total - int(needed_P.clip(self.n_min, self.n_max).sum()), 0)
            if len(hopeless_K)
            else 0
        )
        episodes_P = evenly(episodes_P, hopeless_K, left, rng, self.n_max)

        def gain(task: int, n: int) -> float:
            p = float(p_P[task])
            return p * (1 - p) ** 2 * (p**n * (1 - p) + (1 - p) ** n * p)

        return greedy(gain, episodes_P, total, self.n_max, rng)


def knapsack_cost(p: ArrayLike) -> Floats:
    """Estimate the episodes until outcomes differ with chance 0.9: log 0.1 / log max(p, 1-p).

    >>> knapsack_cost([0.5, 0.1, 0.0]).round(2).tolist()
    [3.32, 21.85, inf]
    """
    p = np.asarray(p, dtype=np.float64)
    same = np.log(np.maximum(p, 1 - p))
    never = same == 0
    return np.where(never, np.inf, np.log(0.1) / np.where(never, -1.0, same))


@config
class Xrpo(Allocator):
    """Play where the success rate is least known: uncertainty that goes, plus exploration.

    The idea is XRPO's (arXiv 2510.06672); both forms are ours, since the published ones could not
    be read. With a posterior Beta(a, b), c = a + b, variance v = ab / (c^2 (c + 1)), the expected
    variance after n episodes is v c / (c + n), and u(n) its root. The n-th play of a task earns
        u(n-1) - u(n) + explore * sqrt(log(1 + T) / (N + n)),
    N the task's outcomes so far and T those of all tasks. Both parts fall with n, so that
    giving the next play to the best offer is exact. XRPO's solved examples in the prompt of tasks
    without a success are the step `guide` with `examples`.

    >>> stats = TaskStats(np.array([4.0, 50.0]), np.array([8.0, 100.0]), [0.5, 0.5], [1, 9])
    >>> Xrpo()(stats, 16, np.random.default_rng(0)).tolist()
    [15, 1]
    """

    name: Literal["xrpo"] = "xrpo"
    n_min: Annotated[int, whole(0)] = 1
    """Plays of every task."""
    n_max: Annotated[int, whole(1)] = 128
    """Most episodes of one task."""
    explore: Annotated[float, real(0)] = 0.01
    """Weight of the exploration bonus."""
    alpha: Annotated[float, real(above=0)] = 1.0
    """Successes of the prior."""
    beta: Annotated[float, real(above=0)] = 1.0
    """Failures of the prior."""

    def __post_init__(self) -> None:
        if self.n_min > self.n_max:
            raise ConfigError(f"n_min={self.n_min} must not be above n_max={self.n_max}")

    def __call__(self, stats: TaskStats, total: int, rng: np.random.Generator) -> Ints:
        episodes_P = minimum(len(stats), total, self.n_min, self.n_max)
        a_P, b_P = self.alpha + stats.successes_P, self.beta + stats.trials_P - stats.successes_P
        c_P = a_P + b_P
        scale_P = np.sqrt(a_P * b_P / (c_P * (c_P + 1)))
        seen = np.log1p(stats.trials_P.sum())

        def gain(task: int, n: int) -> float:
            c, known = float(c_P[task]), float(stats.trials_P[task])
            shrink = (c + n) ** -0.5 - (c + n + 1) ** -0.5
            return (
                float(scale_P[task]) * shrink + self.explore * float(seen / (known + n + 1)) ** 0.5
            )

        return greedy(gain, episodes_P, total, self.n_max, rng)


@config
class Vade(Allocator):
    """Draw a success rate from every task's posterior and play what it makes informative.

    theta ~ Beta(alpha + s, beta + n - s), s of n outcomes as `history` lets them fade (VADE,
    arXiv 2511.18902, of which only the idea is public; form and values are ours). `pick` gives
    the best tasks `group` episodes each until none are left, so it needs more tasks than
    total / group. Both scores rank alike, since both fall with |theta - 1/2|; they differ under
    `share`, which gives episodes in proportion to the score.

    >>> stats = TaskStats([400.0, 500.0, 1.0], [800.0, 500.0, 900.0], [0.5, 1.0, 0.0], [1, 1, 1])
    >>> Vade()(stats, 8, np.random.default_rng(0)).tolist()
    [8, 0, 0]
    """

    name: Literal["vade"] = "vade"
    lam_v: Annotated[float, real(0, 1)] = 0.8
    """What a visit leaves of a task's older evidence."""
    lam_g: Annotated[float, real(0, 1)] = 0.99
    """What every update leaves of all evidence."""
    alpha: Annotated[float, real(above=0)] = 1.0
    """Successes of the prior."""
    beta: Annotated[float, real(above=0)] = 1.0
    """Failures of the prior."""
    group: Annotated[int, whole(2)] = 8
    """Plays of a task that is picked, G in the score."""
    score: Literal["variance", "mixed"] = "variance"
    """`variance` theta (1-theta), or the chance of a `mixed` group, 1 - theta^G - (1-theta)^G."""
    spread: Literal["pick", "share"] = "pick"
    """`pick` the best, or `share` by score."""
    n_min: Annotated[int, whole(0)] = 0
    """Plays of every task; with 0 what is not picked is not played."""

    def __post_init__(self) -> None:
        if self.group < max(self.n_min, 2):
            raise ConfigError(
                f"group={self.group} must be at least 2 and at least n_min={self.n_min}"
            )

    def history(self, size: int) -> TaskHistory:
        return TaskHistory(size, lam_v=self.lam_v, lam_g=self.lam_g)

    def __call__(self, stats: TaskStats, total: int, rng: np.random.Generator) -> Ints:
        episodes_P = minimum(len(stats), total, self.n_min)
        theta_P = rng.beta(
            self.alpha + stats.successes_P, self.beta + stats.trials_P - stats.successes_P
        )
        power = 2 if self.score == "variance" else self.group  # 1 - t^2 - (1-t)^2 is twice t (1-t)
        score_P = 1 - theta_P**power - (1 - theta_P) ** power
        if self.spread == "share":
            return in_proportion(episodes_P, score_P, total)
        best_P = np.argsort(-score_P, kind="stable")
        left = total - int(episodes_P.sum())
        before_P = np.arange(len(stats)) * (self.group - self.n_min)
        episodes_P[best_P] += (left - before_P).clip(0, self.group - self.n_min)
        return evenly(episodes_P, best_P, total - int(episodes_P.sum()), rng)


Allocation = Annotated[Uniform | Knapsack | Xrpo | Vade, choice()]


def _rates(stats: TaskStats, estimate: str, unseen: float) -> Floats:
    if estimate == "last":
        return np.where(np.isnan(stats.last_mean_P), unseen, stats.last_mean_P)
    counted_P = stats.trials_P > 0
    mean_P = stats.successes_P / np.where(counted_P, stats.trials_P, 1.0)
    return np.where(counted_P, mean_P.clip(0.0, 1.0), unseen)


def minimum(tasks: int, total: int, n_min: int, n_max: int | None = None) -> Ints:
    """Return every task its minimum of episodes.

    Raises:
        ConfigError: The bounds do not allow the total.

    >>> minimum(2, 7, 3).tolist()
    [3, 3]
    """
    if tasks < 1 or n_min < 0 or (n_max is not None and n_max < max(n_min, 1)):
        raise ConfigError(
            f"{tasks} tasks with n_min={n_min} and n_max={n_max} episodes each: at least one task "
            "and 0 <= n_min <= n_max are needed"
        )
    if total < n_min * tasks or (n_max is not None and total > n_max * tasks):
        most = "" if n_max is None else f", at most {n_max * tasks} possible (n_max={n_max})"
        raise ConfigError(
            f"{total} episodes for {tasks} tasks: at least {n_min * tasks} are needed "
            f"(n_min={n_min}){most}"
        )
    return np.full(tasks, n_min, dtype=np.int64)


def evenly(
    episodes_P: Ints, at_K: Ints, amount: int, rng: np.random.Generator, n_max: int | None = None
) -> Ints:
    """Add episodes to tasks that have equally many; a remainder is drawn, and n_max limits.

    >>> evenly(np.array([2, 2, 2]), np.array([0, 2]), 6, np.random.default_rng(0)).tolist()
    [5, 2, 5]
    """
    out_P = episodes_P.copy()
    if not len(at_K) or amount <= 0:
        return out_P
    if n_max is not None:
        amount = min(amount, int((n_max - episodes_P[at_K]).sum()))
    each, rest = divmod(amount, len(at_K))
    out_P[at_K] += each
    out_P[rng.permutation(at_K)[:rest]] += 1
    return out_P


def greedy(
    gain: Callable[[int, int], float],
    episodes_P: Ints,
    total: int,
    n_max: int,
    rng: np.random.Generator,
) -> Ints:
    """Return every further play to the task with the largest gain(task, episodes so far).

    Exact where gains fall with the episodes. Equal gains go to the task with fewer episodes, then
    by chance.

    >>> def gain(task, n): return (3.0 - task) / (n + 1)
    >>> greedy(gain, np.array([0, 0]), 5, 4, np.random.default_rng(0)).tolist()
    [3, 2]
    """
    out_P, lot_P = episodes_P.copy(), rng.permutation(len(episodes_P))
    heap = [(-gain(i, int(n)), int(n), int(lot_P[i]), i) for i, n in enumerate(episodes_P)]
    heapq.heapify(heap)
    for _ in range(total - int(episodes_P.sum())):
        while heap[0][1] >= n_max:
            heapq.heappop(heap)
        _, n, lot, i = heap[0]
        out_P[i] = n + 1
        heapq.heapreplace(heap, (-gain(i, n + 1), n + 1, lot, i))
    return out_P


def in_proportion(episodes_P: Ints, score_P: Floats, total: int) -> Ints:
    """Share what is left of the total by score; the largest fractions round up.

    >>> in_proportion(np.array([1, 1]), np.array([3.0, 1.0]), 7).tolist()
    [5, 2]
    """
    score_P = score_P if score_P.sum() > 0 else np.ones(len(score_P))
    left = total - int(episodes_P.sum())
    exact_P = left * score_P / score_P.sum()
    whole_P = np.floor(exact_P).astype(np.int64)
    up = np.argsort(whole_P - exact_P, kind="stable")[: left - int(whole_P.sum())]
    whole_P[up] += 1
    return episodes_P + whole_P
