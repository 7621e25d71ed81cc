"""How often the printed 95 % intervals hold the truth, by simulation.

    python benchmarks/studies/interval_coverage.py --trials 1000

Data with a known truth are drawn many times, the very functions that print intervals are called,
and the share that holds the truth is counted. No claim about coverage goes beyond this table.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coevo.benchmarks.statistics.aggregates import interquartile_mean
from coevo.benchmarks.statistics.arrays import Array, count
from coevo.benchmarks.statistics.bootstrap import Interval, bootstrap_interval
from coevo.benchmarks.statistics.bradley_terry import centred_ratings, predicted
from coevo.benchmarks.statistics.cross_play import CrossPlay, Game
from coevo.benchmarks.statistics.improvement import improvement_interval
from coevo.benchmarks.statistics.paired import sign_flip_interval
from coevo.benchmarks.statistics.standard_errors import suite_score

TASK_MEANS = np.array([0.3, 0.45, 0.5, 0.6, 0.75])
"""Mean normalised score of the simulated tasks."""
SPREAD = 0.15
"""Standard deviation of runs around it."""
Draw = Callable[[Generator, tuple[int, ...]], Array]
"""Noise of a shape, with mean 0 and standard deviation 1."""


def gaussian(rng: Generator, shape: tuple[int, ...]) -> Array:
    """Normal noise."""
    return rng.standard_normal(shape)


def skewed(rng: Generator, shape: tuple[int, ...]) -> Array:
    """Exponential noise: a few runs do much better than the others."""
    return rng.exponential(size=shape) - 1


def heavy_tailed(rng: Generator, shape: tuple[int, ...]) -> Array:
    """Student's t with 3 degrees of freedom: now and then a run is far out."""
    return rng.standard_t(3, size=shape) / math.sqrt(3)


def collapsing(rng: Generator, shape: tuple[int, ...]) -> Array:
    """One run in five collapses, the others agree: two peaks."""
    return np.where(rng.random(shape) < 0.2, -2.0, 0.5) + 1e-3 * rng.standard_normal(shape)


NOISE: dict[str, Draw] = {
    "gaussian": gaussian,
    "skewed": skewed,
    "heavy-tailed": heavy_tailed,
    "collapsing": collapsing,
}
"""Shapes of the scatter between seeds."""


class Trial(NamedTuple):
    """Intervals of one simulated data set, with the true values."""

    intervals: Sequence[Interval]
    truth: Sequence[float]


class Row(NamedTuple):
    """One line of the table."""

    interval: str
    """What is estimated and how."""
    data: str
    """Distribution of the data."""
    n: int
    """Runs, questions, clusters or games per pair."""
    covered: float
    """Share of intervals that held the truth."""
    error: float
    """Standard error of that share, over trials."""
    width: float
    """Median width of the intervals; infinite where n is too small for any."""


def scores_of(rng: Generator, draw: Draw, runs: int) -> Array:
    """Return normalised scores [runs, tasks]."""
    return TASK_MEANS + SPREAD * draw(rng, (runs, len(TASK_MEANS)))


def iqm_trial(rng: Generator, draw: Draw, runs: int, truth: float, replicates: int) -> Trial:
    """Interquartile mean with the stratified bootstrap."""
    scores = scores_of(rng, draw, runs)
    return Trial([bootstrap_interval(scores, interquartile_mean, rng, replicates)], [truth])


def improvement_trial(rng: Generator, draw: Draw, runs: int, replicates: int) -> Trial:
    """Probability of improvement of an algorithm over itself: 1/2."""
    first, second = scores_of(rng, draw, runs), scores_of(rng, draw, runs)
    return Trial([improvement_interval(first, second, rng, replicates)], [0.5])


def paired_trial(rng: Generator, draw: Draw, runs: int) -> Trial:
    """Mean paired difference with the interval of the sign-flip test; the truth is 0.1.

    Around what the seed brings to both, the first algorithm scatters as given and the second
    normally: the differences are as lopsided as the first one is.
    """
    seed = rng.standard_normal(runs)
    first = 0.6 + SPREAD * (seed + draw(rng, (runs,)))
    second = 0.5 + SPREAD * (seed + 0.5 * rng.standard_normal(runs))
    return Trial([sign_flip_interval(first - second, rng=rng)], [0.1])


def suite_trial(rng: Generator, clusters: int) -> Trial:
    """Mean over clusters of four questions that share a difficulty; the truth is 0.5."""
    chance = rng.beta(1, 1, size=clusters)
    right = rng.random((clusters, 4)) < chance[:, None]
    names = np.repeat(np.arange(clusters), 4)
    return Trial(
        [suite_score(right.ravel().astype(float).tolist(), names.tolist()).interval], [0.5]
    )


def rating_trial(rng: Generator, games: int, replicates: int) -> Trial:
    """Bradley-Terry ratings around their mean, deals played in both seat orders."""
    truth = np.array([0.0, 60.0, 150.0, 270.0])
    chance = predicted(truth)
    names = [str(i) for i in range(len(truth))]
    played = []
    for i in range(len(truth)):
        for j in range(i):
            for deal in range(games // 2):
                won, lost = rng.random(2) < (chance[i, j], chance[j, i])
                played.append(Game(names[i], names[j], float(won), deal))
                played.append(Game(names[j], names[i], float(lost), deal))
    found = CrossPlay(tuple(names), tuple(played)).interval(
        lambda tally: centred_ratings(tally.wins), rng, replicates
    )
    return Trial(found, (truth - truth.mean()).tolist())


def measure(name: str, data: str, n: int, trials: int, trial: Callable[[], Trial]) -> Row:
    """Return the counts of trials, the unit: intervals of one trial depend on each other."""
    shares, widths = [], []
    for _ in range(trials):
        intervals, truth = trial()
        held = [i.low <= t <= i.high for i, t in zip(intervals, truth, strict=True)]
        shares.append(np.mean(held))
        widths += [i.high - i.low for i in intervals]
    error = float(np.std(shares) / math.sqrt(trials))
    return Row(name, data, n, float(np.mean(shares)), error, float(np.median(widths)))


def coverage(rng: Generator, trials: int, replicates: int = 1000) -> list[Row]:
    """Return the coverage of every kind of interval.

    Args:
        rng: source of the data and of the resamples.
        trials: data sets per row.
        replicates: bootstrap resamples in a trial.
    """
    count("trials", trials)
    rows = []
    for data, draw in NOISE.items():
        truth = float(interquartile_mean(scores_of(rng, draw, 200_000)))
        for n in (3, 5, 10, 20):
            trial = partial(iqm_trial, rng, draw, n, truth, replicates)
            rows.append(measure("IQM, stratified bootstrap", data, n, trials, trial))
    for n in (3, 5, 10, 20):
        trial = partial(improvement_trial, rng, gaussian, n, replicates)
        rows.append(measure("probability of improvement, bootstrap", "gaussian", n, trials, trial))
    for data, draw in NOISE.items():
        for n in (5, 6, 10):
            trial = partial(paired_trial, rng, draw, n)
            rows.append(measure("paired difference, sign-flip", data, n, trials, trial))
    return rows + _other_rows(rng, trials, replicates)


def _other_rows(rng: Generator, trials: int, replicates: int) -> list[Row]:
    """Questions and games."""
    rows = []
    for n in (5, 10, 30, 100):
        trial = partial(suite_trial, rng, n)
        rows.append(measure("suite mean, clustered", "4 questions a cluster", n, trials, trial))
    fewer = max(1, trials // 4)  # four ratings a trial, and the slowest of all
    for n in (20, 100):
        trial = partial(rating_trial, rng, n, replicates)
        rows.append(measure("Bradley-Terry, bootstrap over deals", "4 agents", n, fewer, trial))
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return rows as Markdown.

    >>> print(table([Row("IQM", "gaussian", 3, 0.845, 0.011, 0.2)]).splitlines()[-1])
    | IQM | gaussian | 3 | 84.5 % ± 1.1 | 0.2 |
    """
    lines = [
        "| 95 % interval | data | n | covered | median width |",
        "|---|---|---|---|---|",
    ]
    for r in rows:
        covered = f"{100 * r.covered:.1f} % ± {100 * r.error:.1f}"
        lines.append(f"| {r.interval} | {r.data} | {r.n} | {covered} | {r.width:.3g} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the simulation and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=1000, help="data sets per row")
    parser.add_argument("--replicates", type=int, default=1000, help="bootstrap resamples")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(argv)
    rng = np.random.default_rng(given.seed)
    sys.stdout.write(table(coverage(rng, given.trials, given.replicates)) + "\n")


if __name__ == "__main__":
    main()
