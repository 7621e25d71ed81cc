"""Plays are whole numbers: how a total is handed out to tasks, exactly and within bounds."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from coevo.envs.core.errors import ConfigError
from coevo.trainers.samplers.tasks import Floats, Ints


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
