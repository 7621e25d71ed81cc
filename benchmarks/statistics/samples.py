"""Several samples per question: pass@k and its relatives, and majority voting.

Each is the expectation over all subsets of k of n samples, of which c are correct, hence unbiased;
with n < k it is undefined and NaN. pass@1 at temperature 0 and avg@n at temperature 1 are different
quantities: print the temperature beside either.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from math import comb

from coevo.benchmarks.statistics.arrays import count
from coevo.envs.core.errors import ConfigError


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the chance that k samples hold a correct one: 1 - C(n-c, k) / C(n, k).

    Chen et al. 2021. The plug-in 1 - (1 - c/n)^k is biased downwards.

    >>> round(pass_at_k(10, 3, 5), 7), pass_at_k(3, 3, 5)
    (0.9166667, nan)
    """
    return math.nan if _undefined(n, c, k) else 1 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Return the chance that all k samples are correct: C(c, k) / C(n, k), written pass^k.

    >>> round(pass_hat_k(16, 4, 4), 10)
    0.0005494505
    """
    return math.nan if _undefined(n, c, k) else comb(c, k) / comb(n, k)


def avg_at_k(n: int, c: int, k: int) -> float:
    """Return the mean correctness of k samples: c / n whatever k; also called mean@k.

    The only one of the family that is linear in the accuracy of a sample.

    >>> avg_at_k(8, 2, 4), avg_at_k(8, 2, 16)
    (0.25, nan)
    """
    return math.nan if _undefined(n, c, k) else c / n


def _undefined(n: int, c: int, k: int) -> bool:
    """Return whether there are too few samples, having checked the counts."""
    if not 0 <= count("c", c, least=0) <= count("n", n):
        raise ConfigError(f"{c} correct of {n} samples is impossible")
    return n < count("k", k)


def maj_at_k(answers: Sequence[Hashable | None], gold: Hashable, k: int) -> float:
    """Return the expected correctness of the most frequent of k answers, exactly.

    Voting sharpens what a model answers most, right or wrong: of a wrong favourite, maj@k falls
    with k while pass@k rises.

    Answers that tie for most votes share the credit. Make equal answers equal first ("0.5",
    "1/2"). None is an answer that could not be read: all of them vote together, never rightly.

    For every number j of votes for the gold answer, the ways to draw the other k - j without
    a rival above j are counted by t, the number of rivals at exactly j, and credited 1 / (1 + t).
    The cost grows like n k^2 at worst: milliseconds for 64 answers.

    >>> [round(maj_at_k(list("AABCB"), "A", k), 7) for k in (1, 3, 5, 6)]
    [0.4, 0.4333333, 0.5, nan]
    """
    if gold is None:
        raise ConfigError(
            "the gold answer is None, which stands for an answer that could not be read"
        )
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
    """Return the ways to draw from the rivals, none above `most`, by how many reach it."""
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
