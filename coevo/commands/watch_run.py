"""What `coevo watch` shows of one run: how far and how fast it is, metrics, newest episodes."""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from coevo.benchmarks.files import read_if_there
from coevo.benchmarks.report.sources import LIMITS, read_config
from coevo.commands.run_display import facts, time_left
from coevo.commands.screen import share
from coevo.commands.transcript import different, excerpt
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import DataError
from coevo.envs.core.quoting import visible
from coevo.trainers.tail import Tail, records

SHOWN = re.compile(
    r"return|exploitability|accuracy|forfeit_rate|tokens_per_second"
    r"|(.*/)?(entropy|kl|adaptive_kl|kl_convex|kl_cov|magnet|approx_kl)$"
)
"""Beginnings of the metrics that are listed."""
NEWEST_EPISODES = 1 << 20
"""Bytes at the end of the episodes that are read."""
QUIET = 30.0
"""Seconds without news after which that is said; longer where updates take longer."""


class RunView:
    """Follows the files of a run.

    Args:
        path: the folder, with its config.yaml.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[dict[str, Any]] = []
        self.latest: dict[str, Any] = {}
        self.episodes: list[Episode] = []
        self._metrics = Tail(path / "metrics.jsonl")
        self._episodes = Tail(path / "episodes.jsonl", NEWEST_EPISODES)
        self.refresh()

    def refresh(self) -> None:
        """Read what was written since the last time."""
        self.config = read_config(self.path)
        news = self._metrics.read()
        if news.anew:
            self.lines, self.latest = [], {}
        for line in records(news.lines):
            self.lines.append(line)
            self.latest |= line
        news = self._episodes.read()
        self.episodes = [] if news.anew else self.episodes
        for text in news.lines:
            with contextlib.suppress(DataError):
                self.episodes.append(Episode.from_json(text))
        if self.episodes:  # those of the newest update
            newest = self.episodes[-1].outcome.get("step")
            self.episodes = [e for e in self.episodes if e.outcome.get("step") == newest]
        self.summary = read_if_there(self.path / "summary.json")
        self.result = read_if_there(self.path / "result.json")

    def limits(self) -> Iterator[tuple[str, float, float]]:
        """Yield the unit of every limit of the run, how much is done and the limit."""
        for setting, (metric, unit) in LIMITS.items():
            if self.config.get(setting):
                yield unit, float(self.latest.get(metric, 0)), float(self.config[setting])

    @property
    def done(self) -> float:
        """Share of the run that is done, by the nearest of its limits."""
        return min(1.0, max((now / limit for _, now, limit in self.limits()), default=0.0))

    @property
    def finished(self) -> bool:
        """Whether nothing more is going to come."""
        if self.result:
            return True
        # `coevo train` notes the number of updates in its summary when all is over.
        return self.done >= 1 and (not self.summary or "steps" in self.summary)

    @property
    def state(self) -> str:
        """What is going on, in words."""
        if self.result.get("status") == "failed":
            return f"failed: {self.result.get('reason')}"
        if self.finished:
            return "finished"
        if not self.lines:
            return f"collecting the first episodes{self._quiet()}"
        return f"{'measuring the trained model' if self.done >= 1 else 'training'}{self._quiet()}"

    def _quiet(self) -> str:
        """Say so where nothing was written for long, and how a stopped run is continued."""
        paths = [self.path / name for name in ("config.yaml", "metrics.jsonl", "summary.json")]
        silence = time.time() - max((p.stat().st_mtime for p in paths if p.exists()), default=0)
        if silence < max(QUIET, 10 * float(self.latest.get("seconds", 0.0))):
            return ""
        of_comparison = (self.path / ".lock").exists()
        hint = "" if of_comparison else f"; continue with: coevo train --resume {self.path}"
        return f"? no news for {time_left(silence, 0.5)}{hint}"

    def line(self) -> str:
        """Say everything in one line."""
        if not self.lines:
            return self.state
        shown = facts(int(self.latest.get("step", 0)), self.latest, self.done)
        return " | ".join([*(f"{k} {v}" for k, v in shown.items() if v), self.state])

    def render(self) -> RenderableType:
        """Return title, state, limits, metrics and the newest episodes."""
        name = (self.config.get("algorithm") or {}).get("name")
        title = f"{name} on {self.config.get('env')}, seed {self.config.get('seed')}"
        episodes = [line for e in different(self.episodes) for line in ("", *excerpt(e))]
        return Group(
            Text(visible(title), style="bold"),
            Text(visible(self.state), style="cyan"),
            self._progress(),
            Text(visible(self.line()).partition(" | ")[2]),
            self._table() if self.lines else Text(),
            *(Text(line, no_wrap=True, overflow="ellipsis") for line in episodes),
        )

    def _progress(self) -> Progress:
        progress = bars("{task.completed:,.0f} of {task.total:,.0f}")
        for unit, now, limit in self.limits():
            progress.add_task(unit, completed=int(min(now, limit)), total=limit)
        return progress

    def _table(self) -> Table:
        """Return the newest, lowest and highest value of the metrics that matter."""
        table = Table("metric", box=None)
        for head in ("newest", "lowest", "highest"):
            table.add_column(head, justify="right")
        for name in (n for n in self.latest if SHOWN.match(n)):
            values = [float(line[name]) for line in self.lines if _is_number(line.get(name))]
            if values:
                shown = (values[-1], min(values), max(values))
                table.add_row(name, *(_written(name, value) for value in shown))
        return table


def bars(figures: str) -> Progress:
    """Return progress bars with names and figures, as a picture that does not move by itself."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    return Progress(*columns, TextColumn(figures), auto_refresh=False)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _written(name: str, value: float) -> str:
    """Write a metric the way its name asks for.

    >>> _written("forfeit_rate", 0.5), _written("tokens_per_second", 1234.5)
    ('50.0 %', '1,234')
    """
    if "rate" in name:
        return share(value)
    return f"{value:,.0f}" if name == "tokens_per_second" else f"{value:.3f}"
