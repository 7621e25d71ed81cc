"""Metrics of runs as curves over what was spent, read line by line."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.benchmarks.report.sources import lines
from coevo.trainers.tail import records

Array = NDArray[np.float64]
SMOOTHED = 20
"""Points of a curve over which its line is averaged."""
DRAWN = 400
BUDGETS = {"tokens": "total_tokens", "turns": "total_turns"}
"""What curves are drawn over, the preferred first, and its metric; else it is updates."""


@dataclass
class Points:
    """The values of one metric, and at which lines they were logged."""

    at: array[int] = field(default_factory=lambda: array("q"))
    value: array[float] = field(default_factory=lambda: array("d"))


@dataclass
class LoggedSeries:
    """Every number that a run has logged, 16 bytes each."""

    values: dict[str, Points] = field(default_factory=dict)
    count: int = 0
    """Lines, which are updates."""

    def add(self, line: Mapping[str, Any]) -> None:
        for name, value in line.items():
            if isinstance(value, int | float) and math.isfinite(value):
                points = self.values.setdefault(name, Points())
                points.at.append(self.count)
                points.value.append(value)
        self.count += 1

    @property
    def over(self) -> str:
        """What the curves of this run are drawn over: `tokens`, `turns` or `updates`."""
        spent = (k for k, name in BUDGETS.items() if self.last(name) > 0 and self._whole(name))
        return next(spent, "updates")

    def last(self, name: str) -> float:
        """Return the newest value of a metric; 0 where there is none."""
        return self.values[name].value[-1] if name in self.values else 0.0

    def curve(self, name: str, over: str = "") -> tuple[Array, Array]:
        points = self.values.get(name, Points())
        spent = self.values.get(BUDGETS.get(over or self.over, "step"), Points())
        at, known = np.asarray(points.at), np.asarray(spent.at)
        kept = np.isin(at, known)
        budgets = np.asarray(spent.value)[np.searchsorted(known, at[kept])]
        return budgets.astype(float), np.asarray(points.value)[kept]

    def _whole(self, name: str) -> bool:
        return len(self.values[name].at) == self.count


def read_series(path: Path) -> LoggedSeries:
    """Read `metrics.jsonl`, also while it is being written."""
    return from_lines(record for _, line in lines(path) for record in records([line]))


def from_lines(metrics: Iterable[Mapping[str, Any]]) -> LoggedSeries:
    series = LoggedSeries()
    for line in metrics:
        series.add(line)
    return series


def smooth(values: Sequence[float] | Array, width: int = SMOOTHED) -> Array:
    """Average every value with those before it, `width` in all."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    end = np.arange(1, len(values) + 1)
    begin = np.maximum(end - width, 0)
    return np.asarray((total[end] - total[begin]) / (end - begin))


def thinned(x: Array, y: Array, most: int = DRAWN) -> tuple[Array, Array]:
    """Replace neighbouring points by their means until there are no more than `most`."""
    if len(x) <= most:
        return x, y
    parts = np.array_split(np.arange(len(x)), most)
    return np.array([x[p].mean() for p in parts]), np.array([y[p].mean() for p in parts])


def middle(runs: Sequence[tuple[Array, Array]], points: int = 60) -> tuple[Array, Array]:
    """Average curves of several runs on one grid, up to the budget that all of them reached."""
    runs = [(x, y) for x, y in runs if len(x)]
    if not runs:
        return np.array([]), np.array([])
    low, high = max(x[0] for x, _ in runs), min(x[-1] for x, _ in runs)
    if high <= low:
        return np.array([high]), np.array([np.mean([y[-1] for _, y in runs])])
    grid = np.linspace(low, high, points)
    return grid, np.mean([np.interp(grid, x, smooth(y)) for x, y in runs], axis=0)
