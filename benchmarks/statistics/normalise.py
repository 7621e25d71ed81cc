"""Scores between fixed references: 0 is the random policy, 1 the oracle.

The references are constants of the benchmark. Taking them from the compared runs would move
every score when an algorithm is added.
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from coevo.benchmarks.statistics.arrays import Array, finite
from coevo.envs.core.errors import ConfigError

SOLVED = 0.999
"""Share of a level's maximum from which the level counts as solved."""


class References(NamedTuple):
    """What 0 and 1 mean on one task."""

    random: float
    """Score of the random policy."""
    oracle: float
    """Score of the oracle, or of the best scripted policy; below `random` where less is better."""


def normalise(scores: ArrayLike, random: float, oracle: float) -> Array:
    """Return (score - random) / (oracle - random), unclipped."""
    low, high = finite("references", [random, oracle])
    if low == high:
        raise ConfigError(f"random and oracle are both {random}: a score between them is undefined")
    return (finite("scores", scores) - low) / (high - low)
