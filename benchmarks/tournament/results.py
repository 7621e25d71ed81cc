"""Tests of each pair, with one correction for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.benchmarks.statistics.paired import sign_flip
from coevo.benchmarks.statistics.verdicts import holm
from coevo.benchmarks.tournament.pairings import Pairing, mean_interval, points_interval
from coevo.benchmarks.tournament.schedule import Pair

ALPHA = 0.05
"""Chance of any false separation among all pairs that is accepted."""
DRAWS = 2**15
"""Sign patterns of one test: all of them up to 15 tasks; the smallest p is 3e-5."""


@dataclass(frozen=True)
class PairResult:
    """Two different agents against each other."""

    first: str
    second: str
    tasks: int
    episodes: int
    points: Interval | None
    """Share of points of the first, draws counted half; None without a contest."""
    rates: tuple[float, float, float] | None
    """Share of episodes that the first won, drew and lost."""
    returns: tuple[Interval, Interval]
    """Mean score of the first and of the second."""
    margin: Interval
    """Half the difference of the two mean scores."""
    p: float
    """Two-sided p of the sign-flip test on the margin over tasks."""
    p_adjusted: float
    """The same after Holm over all pairs."""

    @property
    def separated(self) -> bool:
        return self.p_adjusted <= ALPHA

    @property
    def better(self) -> str | None:
        """The agent that is shown to score more; None where neither is."""
        if not self.separated:
            return None
        return self.first if self.margin.point > 0 else self.second


def results(pairings: Mapping[Pair, Pairing], rng: Generator) -> list[PairResult]:
    """Compare the two agents of every pair that has finished tasks.

    If both were equally good, each would be as likely to be ahead on a task as the other, because
    both play it from every side: flipping signs of tasks is an exact test.
    """
    played = [m for pair, m in sorted(pairings.items()) if pair[0] != pair[1] and m.tasks]
    tests = [sign_flip(m.margin(), rng, draws=DRAWS) for m in played]
    adjusted = holm(tests).tolist() if tests else []
    return [_result(m, p, q) for m, p, q in zip(played, tests, adjusted, strict=True)]


def _result(pairing: Pairing, p: float, p_adjusted: float) -> PairResult:
    first, second = pairing.pair
    contest = all(e.result is not None for e in pairing.episodes)
    return PairResult(
        first=first,
        second=second,
        tasks=pairing.tasks,
        episodes=len(pairing.episodes),
        points=points_interval(pairing.points()) if contest else None,
        rates=_rates(pairing) if contest else None,
        returns=(mean_interval(pairing.per_task(first)), mean_interval(pairing.per_task(second))),
        margin=mean_interval(pairing.margin()),
        p=p,
        p_adjusted=p_adjusted,
    )


def _rates(pairing: Pairing) -> tuple[float, float, float]:
    won = [e.result[pairing.pair[0]] for e in pairing.episodes if e.result is not None]
    win, draw, loss = (sum(w == points for w in won) / len(won) for points in (1.0, 0.5, 0.0))
    return win, draw, loss


def points_tell_all(found: Sequence[PairResult], pairings: Mapping[Pair, Pairing]) -> bool:
    """Return whether a task's margin is the same multiple of its points everywhere.

    True where a game only knows won, drawn and lost: the return then says nothing new.
    """
    if any(r.points is None for r in found):
        return False
    margins = np.concatenate([pairings[r.first, r.second].margin() for r in found] or [np.zeros(1)])
    points = np.concatenate([pairings[r.first, r.second].points() for r in found] or [np.zeros(1)])
    stake = np.abs(margins).max(initial=0.0)
    return bool(np.allclose(margins, stake * (2 * points - 1)))


def rateable(
    agents: Sequence[str], pairings: Mapping[Pair, Pairing]
) -> tuple[list[str], list[str]]:
    """Split agents into those whose every pair has finished tasks, and those left out.

    The agent with the most missing results is left out first: one silent agent does not take the
    others with it.
    """
    kept, out = sorted(agents), []
    while kept:
        missing = {
            name: sum(
                not m.tasks
                for pair, m in pairings.items()
                if name in pair and set(pair) <= set(kept)
            )
            for name in kept
        }
        worst = max(kept, key=lambda name: (missing[name], name))
        if not missing[worst]:
            break
        kept.remove(worst)
        out.append(worst)
    return kept, sorted(out)
