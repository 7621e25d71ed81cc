"""What a claim is: a property of an algorithm, runs that show it, and what they must come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isclose
from operator import sub, truediv
from statistics import fmean, stdev
from typing import Any, Literal

from coevo.benchmarks.reproductions.run import Arm, Trained, World, trained
from coevo.envs.core.errors import ConfigError

Measures = Mapping[str, float]
"""What one arm came to with one seed: measure -> value."""
OfSeeds = Mapping[str, tuple[float, ...]]
"""Measure -> one value per seed; one in all where the arm runs once."""
Found = Mapping[str, OfSeeds]
"""Arm -> what it came to."""
On = Literal["model", "table", "net", "toy", "scripted", "formula"]
ON: Mapping[On, str] = {
    "model": "a language model, trained by the shipped loop in a listed environment",
    "table": "a tabular policy, trained by the shipped loop in a listed environment",
    "net": "a small network over arrays, trained by the shipped loop in a listed environment",
    "toy": "a small policy, trained by the shipped loop in a world that only the claim registers",
    "scripted": "scripted players in a listed environment; nothing is trained",
    "formula": "estimators and losses, on given numbers; nothing plays",
}
"""What a claim is shown on."""


@dataclass(frozen=True)
class Figure:
    """One figure: ours over seeds, the reference's, and the bounds that ours must keep.

    >>> figure = Figure("P(best arm)", (0.96, 0.98), reference=0.975, low=0.95)
    >>> figure.holds, figure.bound
    (True, '>= 0.95')
    """

    label: str
    measured: tuple[float, ...]
    """One value per seed; one value in all where nothing is drawn."""
    reference: float | None = None
    """A closed form, or the figure of a script that the claim's `source` names; else None."""
    low: float = -inf
    """Smallest mean that is accepted; -inf accepts any."""
    high: float = inf
    """Largest mean that is accepted; inf accepts any."""

    @property
    def mean(self) -> float:
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


@dataclass(frozen=True)
class Expect:
    """One line of a claim's table: which figure it shows, beside what, and within which bounds."""

    label: str
    """What is measured, as the table prints it."""
    of: str | Callable[[Found], Sequence[float]]
    """`arm.measure`, or the difference or ratio of two of them: `new.score - old.score`. A function
    for whatever cannot be written so."""
    reference: float | None = None
    """See `Figure`, as for the bounds."""
    low: float = -inf
    high: float = inf

    def figure(self, found: Found) -> Figure:
        values = value(self.of, found) if isinstance(self.of, str) else self.of(found)
        return Figure(self.label, tuple(values), self.reference, self.low, self.high)


def near(
    label: str, of: str | Callable[[Found], Sequence[float]], reference: float, within: float
) -> Expect:
    """Hold a figure to the reference, give or take `within`.

    >>> near("probability", "grpo.best", 0.70, 0.02).figure({"grpo": {"best": (0.71,)}}).bound
    'reference ± 0.02'
    """
    return Expect(label, of, reference, reference - within, reference + within)


def value(expression: str, found: Found) -> tuple[float, ...]:
    """Return the figure of an expression, seed by seed; what is measured once counts for each.

    >>> value("a.x - b.x", {"a": {"x": (0.5, 0.75)}, "b": {"x": (0.25,)}})
    (0.25, 0.5)
    """
    for sign, operator in ((" - ", sub), (" / ", truediv)):
        if sign in expression:
            one, other = (value(part, found) for part in expression.split(sign))
            length = max(len(one), len(other))
            pairs = zip(*(x * length if len(x) == 1 else x for x in (one, other)), strict=True)
            return tuple(operator(a, b) for a, b in pairs)
    arm, _, measure = expression.rpartition(".")
    return found[arm][measure]


class _Arms(dict[str, OfSeeds]):
    """What arms came to; an arm is run when it is first asked for."""

    def __init__(self, run: Callable[[str], OfSeeds]) -> None:
        self._run = run

    def __missing__(self, name: str) -> OfSeeds:
        self[name] = self._run(name)
        return self[name]


@dataclass(frozen=True)
class Outcome:
    """What one run of a claim found."""

    figures: tuple[Figure, ...]

    @property
    def holds(self) -> bool:
        """Whether every figure keeps its bounds; a run that bounds nothing shows nothing."""
        return any(f.bounded for f in self.figures) and all(f.holds for f in self.figures)


@dataclass(frozen=True)
class Once:
    """Measures that are taken once, whatever the seeds: of a start, or of what is enumerated."""

    measure: Callable[[int], Measures]
    once: bool = True

    def __call__(self, seed: int) -> Measures:
        """Measure."""
        return self.measure(seed)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A property of an algorithm that shows at a small scale, and how to measure it.

    Texts may be indented and broken into lines as it suits the file.
    """

    property: str
    source: str
    """Where a stranger finds the claim, and the script or the formula of the references."""
    minutes: float
    """Expected time with five seeds on one CPU core."""
    on: On
    """What it is shown on, from ON."""
    setting: str
    measured: str
    chosen: str
    """What is our choice, and what was chosen after looking at figures."""
    theory: str = ""
    limits: str = ""
    note: str = ""
    """What a reader must know to judge the table."""
    world: World | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Dotted setting -> value, for all arms."""
    arms: Mapping[str, Arm | Callable[[int], Measures]]
    """Name -> what is trained in the world and measured; or a function of the seed that measures by
    itself."""
    measure: Callable[[Trained], Measures] | None = None
    """Measures of a trained arm."""
    expect: Sequence[Expect]
    seeds: int | None = None
    """Most seeds that are run: some runs take long."""
    name: str = ""
    """What the command line calls it: the name of its file, which `reproductions.claim` adds."""

    def __post_init__(self) -> None:
        trains = any(isinstance(arm, Arm) for arm in self.arms.values())
        if trains and (self.world is None or self.measure is None):
            raise ConfigError("arms that train need a world and a measure")
        for text in ("property", "source", *TEXTS):
            object.__setattr__(self, text, " ".join(getattr(self, text).split()))

    def run(self, seeds: Sequence[int], steps: int | None = None, labels: str = "") -> Outcome:
        """Run the arms with these seeds, and make the table; equal seeds give equal figures.

        Args:
            seeds: of every arm that does not run once.
            steps: updates of every arm that is trained, for a quick look; None takes its own.
            labels: beginning of the labels of the figures that are wanted; arms that they do not
                read are not run.
        """
        found = _Arms(lambda name: self._over(name, seeds, steps))
        wanted = [one for one in self.expect if one.label.startswith(labels)]
        return Outcome(tuple(one.figure(found) for one in wanted))

    def _over(self, name: str, seeds: Sequence[int], steps: int | None) -> OfSeeds:
        """Return each measure of an arm, seed by seed."""
        once = getattr(self.arms[name], "once", False)
        some = seeds[:1] if once else seeds[: self.seeds]
        every = [self.measures(name, seed, steps) for seed in some]
        return {key: tuple(one[key] for one in every) for key in every[0]}

    def measures(self, name: str, seed: int = 0, steps: int | None = None) -> Measures:
        arm = self.arms[name]
        if not isinstance(arm, Arm):
            return arm(seed)
        assert self.world is not None and self.measure is not None  # checked when it was made
        with trained(self.world, arm, seed, self.changes, steps) as run:
            return self.measure(run)


TEXTS = ("setting", "theory", "measured", "limits", "chosen", "note")
"""What a claim says of itself beside its property and its source, in the order of printing."""
