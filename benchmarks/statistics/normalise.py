"""Scores between fixed references: 0 is the random policy, 1 the oracle.

The references are constants of the benchmark. Taking them from the compared runs would move
everybody's score when an algorithm is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import Array, finite
from coevo.envs.core.errors import ConfigError, unknown

SOLVED = 0.999
"""Share of a level's maximum from which the level counts as solved."""


class References(NamedTuple):
    """What 0 and 1 mean on one task."""

    random: float
    """Score of the random policy."""
    oracle: float
    """Score of the oracle, or of the best scripted policy; below `random` where less is better."""


def normalise(scores: ArrayLike, random: float, oracle: float) -> Array:
    """Give (score - random) / (oracle - random), unclipped.

    >>> normalise([2, 7, 12, 14], random=2, oracle=12).tolist()
    [0.0, 0.5, 1.0, 1.2]
    """
    low, high = finite("references", [random, oracle])
    if low == high:
        raise ConfigError(f"random and oracle are both {random}: a score between them is undefined")
    return (finite("scores", scores) - low) / (high - low)


def normalise_tasks(
    scores_RT: ArrayLike, tasks: Sequence[str], references: Mapping[str, References]
) -> Array:
    """Normalise every column of a table of runs by the references of its task.

    >>> normalise_tasks([[1.0, 5.0]], ["a", "b"], {"a": References(0, 2), "b": References(9, 1)})
    array([[0.5, 0.5]])
    """
    scores = finite("scores", scores_RT, ndim=2)
    if scores.shape[1] != len(tasks):
        raise ConfigError(f"scores has {scores.shape[1]} columns for {len(tasks)} tasks")
    missing = [t for t in tasks if t not in references]
    if missing:
        raise unknown("reference scores of task", missing[0], references)
    return np.stack([normalise(s, *references[t]) for t, s in zip(tasks, scores.T, strict=True)], 1)


class LevelScore(NamedTuple):
    """Rewards of one environment over its levels, as shares of what each level can pay."""

    mean_of_ratios: float
    """Every level weighs the same: the score to report."""
    ratio_of_sums: float
    """Levels that pay more weigh more: what AutoEnv's code computes."""
    solved: float
    """Share of levels that reach 0.999 of their maximum."""


def level_score(rewards: ArrayLike, maxima: ArrayLike) -> LevelScore:
    """Compare the rewards of levels with their theoretical maxima (AutoEnv).

    >>> [round(x, 7) for x in level_score([20, 0, 9], [40, 10, 10])]
    [0.4666667, 0.4833333, 0.0]
    """
    got, most = finite("rewards", rewards, ndim=1), finite("maxima", maxima, ndim=1)
    if got.shape != most.shape or not (most > 0).all():
        raise ConfigError(f"{len(got)} rewards need as many maxima above 0; got {most.tolist()}")
    ratios = got / most
    return LevelScore(
        float(ratios.mean()), float(got.sum() / most.sum()), float((ratios >= SOLVED).mean())
    )
