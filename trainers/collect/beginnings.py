"""What replies begin with that the policy did not write: forced first segments, and hints.

Such a beginning is part of the prompt as a learner reads it: it carries no loss, and no ratio.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError


@config
class Forced:
    """First segments that a part of every group must begin with; the rest of a group is free."""

    first: Annotated[tuple[str, ...], Field(min_length=1)]
    """Segments, such as the tags of modes."""
    each: Annotated[int, whole(1)] = 2
    """Episodes of a group that begin with each."""

    @property
    def episodes(self) -> int:
        """Episodes of a group that are forced."""
        return self.each * len(self.first)

    def beginning(self, number: int) -> str:
        """Return what the episode of a group with this number begins with.

        >>> [Forced(first=("a", "b"), each=1).beginning(k) for k in range(3)]
        ['a', 'b', '']
        """
        return self.first[number // self.each] if number < self.episodes else ""


@config
class Hint:
    """Shows a part of a task's solution, so much that half of the episodes succeed (SEELE).

    The episodes of a group are played in rounds. The success at a share h of the solution is taken
    for sigma(k (h - b)); b is uniform in 0..1 and k over a range, and after every round the
    posterior means of both give the h at which the success is `target`.
    """

    target: Annotated[float, real(above=0, below=1)] = 0.5
    """Success that is aimed at."""
    rounds: Annotated[int, whole(1)] = 4
    """Rounds that the episodes of a group are played in."""
    flattest: Annotated[float, real(above=0)] = 6.0
    """Smallest k that is possible."""
    steepest: Annotated[float, real(above=0)] = 14.0
    """Largest k that is possible."""

    def __post_init__(self) -> None:
        if self.flattest > self.steepest:
            raise ConfigError(
                f"collect.hint: flattest={self.flattest:g} must not be above "
                f"steepest={self.steepest:g}"
            )

    def share(self, shown: Sequence[float], success: Sequence[float]) -> float:
        """Return the next share of the solution, given earlier shares and what came of each.

        Args:
            shown: share of the solution that every episode so far has begun with.
            success: what it was worth, 0 to 1.

        >>> hint = Hint()
        >>> hint.share([], []), round(hint.share([0.5] * 4, [0.0] * 4), 2)
        (0.5, 0.81)
        """
        b_I, k_J = _B[:, None], np.linspace(self.flattest, self.steepest, 9)[None, :]
        logp_IJ = np.zeros((b_I.size, k_J.size))
        for h, won in zip(shown, success, strict=True):
            x_IJ = k_J * (h - b_I)
            logp_IJ -= won * np.logaddexp(0, -x_IJ) + (1 - won) * np.logaddexp(0, x_IJ)
        weight_IJ = np.exp(logp_IJ - logp_IJ.max())
        weight_IJ /= weight_IJ.sum()
        b, k = float((weight_IJ * b_I).sum()), float((weight_IJ * k_J).sum())
        odds = np.log(self.target / (1 - self.target))
        return float(np.clip(b + odds / k, 0.0, 1.0))


_B: NDArray[np.float64] = np.linspace(0.0, 1.0, 101)


def part_of(solution: str, share: float) -> str:
    """Return the first part of a solution, in whole words.

    >>> part_of("2 * 3 = 6.", 0.5), part_of("2 * 3 = 6.", 0.0)
    ('2 * ', '')
    """
    words = solution.split()
    shown = words[: round(share * len(words))]
    return " ".join([*shown, ""]) if shown else ""


def in_rounds(count: int, rounds: int) -> list[slice]:
    """Cut so many episodes into rounds of nearly equal size.

    >>> [(s.start, s.stop) for s in in_rounds(8, 3)]
    [(0, 2), (2, 5), (5, 8)]
    """
    ends = [count * i // rounds for i in range(rounds + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(ends)]
