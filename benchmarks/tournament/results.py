"""What may be said about each pair, with one correction for all that is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from coevo.benchmarks.statistics.bootstrap import Interval
from coevo.benchmarks.statistics.paired import sign_flip
from coevo.benchmarks.statistics.verdicts import holm
from coevo.benchmarks.tournament.meetings import Meeting, mean_interval, points_interval
from coevo.benchmarks.tournament.schedule import Pair

ALPHA = 0.05
"""Chance of any false separation among all pairs that is accepted."""
DRAWS = 20_000
"""Sign patterns drawn for one test; the smallest p is then 5e-5."""


@dataclass(frozen=True)
class Result:
    """Two different agents against each other."""

    first: str
    second: str
    deals: int
    plays: int
    """Plays of those deals."""
    points: Interval | None
    """Share of points of the first, draws counted half; None without a contest."""
    rates: tuple[float, float, float] | None
    """Share of plays that the first won, drew and lost."""
    returns: tuple[Interval, Interval]
    """Mean score of the first and of the second."""
    lead: Interval
    """Half the difference of the two mean scores."""
    p: float
    """Two-sided p of the sign-flip test on the lead over deals."""
    p_adjusted: float
    """The same after Holm over all pairs."""

    @property
    def separated(self) -> bool:
        """Whether the corrected test tells the two apart."""
        return self.p_adjusted <= ALPHA

    @property
    def better(self) -> str | None:
        """Who is shown to score more; None where nobody is."""
        if not self.separated:
            return None
        return self.first if self.lead.point > 0 else self.second


def results(met: Mapping[Pair, Meeting], rng: Generator) -> list[Result]:
    """Compare the two agents of every pair that has finished deals.

    If both were equally good, each would be as likely to lead on a deal as the other, because both
    play it from every side: flipping signs of deals is an exact test.

    Args:
        met: what happened; self-play is passed over.
        rng: of sign patterns.
    """
    played = [m for pair, m in sorted(met.items()) if pair[0] != pair[1] and m.deals]
    tests = [sign_flip(m.lead(), rng, draws=DRAWS).p for m in played]
    adjusted = holm(tests).tolist() if tests else []
    return [_result(m, p, q) for m, p, q in zip(played, tests, adjusted, strict=True)]


def _result(met: Meeting, p: float, p_adjusted: float) -> Result:
    first, second = met.pair
    contest = all(play.result is not None for play in met.plays)
    return Result(
        first=first,
        second=second,
        deals=met.deals,
        plays=len(met.plays),
        points=points_interval(met.points()) if contest else None,
        rates=_rates(met) if contest else None,
        returns=(mean_interval(met.per_deal(first)), mean_interval(met.per_deal(second))),
        lead=mean_interval(met.lead()),
        p=p,
        p_adjusted=p_adjusted,
    )


def _rates(met: Meeting) -> tuple[float, float, float]:
    won = [play.result[met.pair[0]] for play in met.plays if play.result is not None]
    win, draw, loss = (sum(w == points for w in won) / len(won) for points in (1.0, 0.5, 0.0))
    return win, draw, loss


def points_tell_all(found: Sequence[Result], met: Mapping[Pair, Meeting]) -> bool:
    """Tell whether a deal's lead is the same multiple of its points everywhere.

    True where a game only knows won, drawn and lost: the return then says nothing new.
    """
    if any(r.points is None for r in found):
        return False
    leads = np.concatenate([met[r.first, r.second].lead() for r in found] or [np.zeros(1)])
    points = np.concatenate([met[r.first, r.second].points() for r in found] or [np.zeros(1)])
    stake = np.abs(leads).max(initial=0.0)
    return bool(np.allclose(leads, stake * (2 * points - 1)))


def rateable(agents: Sequence[str], met: Mapping[Pair, Meeting]) -> tuple[list[str], list[str]]:
    """Split agents into those whose every pair has finished deals, and those left out.

    Whoever is missing the most results is left out first, so that one silent agent does not take
    the others with it.
    """
    kept, out = sorted(agents), []
    while kept:
        missing = {
            name: sum(
                not m.deals for pair, m in met.items() if name in pair and set(pair) <= set(kept)
            )
            for name in kept
        }
        worst = max(kept, key=lambda name: (missing[name], name))
        if not missing[worst]:
            break
        kept.remove(worst)
        out.append(worst)
    return kept, sorted(out)
