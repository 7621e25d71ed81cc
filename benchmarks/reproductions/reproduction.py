"""What a reproduction is: figures of an algorithm at a small scale, and what they are held to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isclose
from statistics import fmean, stdev
from typing import Literal


@dataclass(frozen=True)
class Row:
    """One figure: ours over seeds, the reference's, and the bounds that ours must keep.

    >>> row = Row("P(best arm)", (0.96, 0.98), reference=0.975, low=0.95)
    >>> row.holds, row.bound
    (True, '>= 0.95')
    """

    label: str
    """What is measured."""
    measured: tuple[float, ...]
    """One value per seed; one value in all where nothing is drawn."""
    reference: float | None = None
    """A closed form, or the figure of a script that `Reproduction.source` names; else None."""
    low: float = -inf
    """Smallest mean that is accepted; -inf accepts any."""
    high: float = inf
    """Largest mean that is accepted; inf accepts any."""

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return fmean(self.measured)

    @property
    def spread(self) -> float | None:
        """Standard deviation over the seeds; None for a single value."""
        return stdev(self.measured) if len(self.measured) > 1 else None

    @property
    def bounded(self) -> bool:
        """Whether this figure decides anything; others are shown for comparison."""
        return self.low > -inf or self.high < inf

    @property
    def holds(self) -> bool:
        """Whether the mean lies between the bounds; a mean that is not a number does not."""
        return self.low <= self.mean <= self.high

    @property
    def bound(self) -> str:
        """The bounds in words; empty where there are none."""
        reference = self.reference
        if self.low > -inf and self.high < inf:
            if reference is not None and isclose(self.high - reference, reference - self.low):
                return f"reference ± {self.high - reference:.2g}"
            return f"{self.low:.4g} to {self.high:.4g}"
        if self.low > -inf:
            return f">= {self.low:.4g}"
        return f"<= {self.high:.4g}" if self.bounded else ""


def near(label: str, measured: Sequence[float], reference: float, within: float) -> Row:
    """Hold a figure to the reference, give or take `within`.

    >>> near("probability", [0.71], 0.70, 0.02).bound
    'reference ± 0.02'
    """
    return Row(label, tuple(measured), reference, reference - within, reference + within)


def gaps(one: Sequence[float], other: Sequence[float]) -> tuple[float, ...]:
    """Return by how much one figure is above another, seed by seed.

    >>> gaps([0.5, 0.25], [0.25, 0.25])
    (0.25, 0.0)
    """
    return tuple(a - b for a, b in zip(one, other, strict=True))


@dataclass(frozen=True)
class Outcome:
    """What one run of a reproduction found."""

    rows: tuple[Row, ...]
    """The figures, in the order of the table."""
    note: str = ""
    """What a reader must know to judge them, such as where the bounds are from."""

    @property
    def holds(self) -> bool:
        """Whether every figure keeps its bounds; a run that bounds nothing shows nothing.

        >>> Outcome((Row("seen", (1.0,)),)).holds
        False
        """
        return any(row.bounded for row in self.rows) and all(row.holds for row in self.rows)


@dataclass(frozen=True)
class Reproduction:
    """A property of an algorithm that shows at a small scale, and how to measure it."""

    name: str
    """What the command line calls it."""
    property: str
    """What must hold, in one sentence."""
    source: str
    """Where a stranger finds the claim, and the script or the formula of the references."""
    minutes: float
    """Expected time with five seeds on one CPU core."""
    run: Callable[[Sequence[int]], Outcome]
    """Measures with these seeds; equal seeds give equal figures."""
    on: Literal["model", "table", "formula"]
    """A language model or a tabular policy trained by the shipped loop; or estimators and losses of
    the library on numbers that are given or enumerated, where nothing plays."""
