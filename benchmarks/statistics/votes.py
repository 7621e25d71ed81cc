"""Majority voting: how often the most frequent of k sampled answers is right.

Voting sharpens what a model answers most, right or wrong: maj@k of a wrong favourite falls with k
while pass@k rises.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from math import comb

from coevo.benchmarks.statistics.arrays import count
from coevo.envs.core.errors import ConfigError


def maj_at_k(answers: Sequence[Hashable | None], gold: Hashable, k: int) -> float:
    """Expected correctness of the plurality answer over all subsets of k answers, exactly.

    Answers that tie for most votes share the credit. Make equal answers equal first ("0.5",
    "1/2"). None is an answer that could not be read: all of them vote together, never rightly.

    For every number j of votes for the gold answer, the ways to draw the other k - j without
    anybody above j are counted by t, the number of rivals at exactly j, and credited 1 / (1 + t).
    The cost grows like n k^2 at worst: milliseconds for 64 answers.

    >>> [round(maj_at_k(list("AABCB"), "A", k), 7) for k in (1, 3, 5, 6)]
    [0.4, 0.4333333, 0.5, nan]
    """
    if gold is None:
        raise ConfigError("the gold answer is None, which stands for an answer nobody could read")
    if not answers:
        raise ConfigError("no answers to vote")
    if len(answers) < count("k", k):
        return math.nan
    votes = Counter(answers)
    right = votes.pop(gold, 0)
    credit = 0.0
    for j in range(1, min(right, k) + 1):
        for ties, ways in _rivals(list(votes.values()), k - j, j).items():
            credit += comb(right, j) * ways / comb(len(answers), k) / (1 + ties)
    return credit


def _rivals(sizes: list[int], draw: int, most: int) -> dict[int, int]:
    """Count the ways to draw from the rivals with none above `most`, by how many reach it."""
    ways = {(0, 0): 1}  # (drawn, rivals with exactly `most`) -> ways
    for size in sizes:
        grown: Counter[tuple[int, int]] = Counter()
        for (drawn, ties), number in ways.items():
            for taken in range(min(size, most, draw - drawn) + 1):
                key = (drawn + taken, ties + (taken == most))
                grown[key] += number * comb(size, taken)
        ways = dict(grown)
    found: Counter[int] = Counter()
    for (drawn, ties), number in ways.items():
        if drawn == draw:
            found[ties] += number
    return dict(found)
