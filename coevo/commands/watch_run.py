"""What `coevo watch` shows of one run: how far it is, how fast, its curves, its newest plays."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from coevo.commands.run_display import facts, time_left
from coevo.commands.screen import share
from coevo.commands.sparkline import LEVELS, curves, number, sparkline
from coevo.commands.story import pick, sketch
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import DataError
from coevo.trainers.tail import Tail, records

LIMITS = {
    "steps": ("step", "updates"),
    "budget_tokens": ("total_tokens", "tokens"),
    "budget_turns": ("total_turns", "turns"),
    "budget_seconds": ("total_seconds", "seconds"),
}
"""Setting that ends a run -> the metric that is measured against it, and its unit."""
NEWEST_PLAYS = 1 << 20
"""Bytes at the end of the plays that are read."""
MOST_POINTS = 60
"""Of a curve."""
QUIET = 30.0
"""Seconds without news after which that is said; longer where updates take longer."""


class Size(NamedTuple):
    """Room on the screen."""

    width: int
    height: int | None = None
    """None where there is no end."""
    levels: str = LEVELS
    """Characters of a sparkline."""


class RunView:
    """Follows the files of a run.

    Args:
        path: the folder, with its config.yaml.
        now: gives the time of day in seconds.
    """

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self.path, self._now = path, now
        self.config: dict[str, Any] = {}
        self.lines: list[dict[str, Any]] = []
        self.latest: dict[str, Any] = {}
        self.plays: list[Episode] = []
        self._metrics = Tail(path / "metrics.jsonl")
        self._episodes = Tail(path / "episodes.jsonl", NEWEST_PLAYS)
        self.refresh()

    def refresh(self) -> None:
        """Read what was written since the last time."""
        self.config = read_config(self.path / "config.yaml")
        news = self._metrics.read()
        if news.anew:
            self.lines, self.latest = [], {}
        for line in records(news.lines):
            self.lines.append(line)
            self.latest |= line
        self._read_plays()
        self.summary = read_json(self.path / "summary.json")
        self.cell = read_json(self.path / "cell.json")

    def _read_plays(self) -> None:
        news = self._episodes.read()
        if news.anew:
            self.plays = []
        for line in news.lines:
            with contextlib.suppress(DataError):
                play = Episode.from_json(line)
                if self.plays and play.outcome.get("step") != self.plays[-1].outcome.get("step"):
                    self.plays = []  # only those of the newest update are told
                self.plays.append(play)

    # ---- Where the run stands ----------------------------------------------------------------

    @property
    def title(self) -> str:
        """Algorithm, environment and seed."""
        algorithm = self.config.get("algorithm")
        name = algorithm.get("name") if isinstance(algorithm, Mapping) else algorithm
        return f"{name} on {self.config.get('env')}, seed {self.config.get('seed')}"

    @property
    def step(self) -> int:
        """Updates done."""
        return int(self.latest.get("step", 0))

    @property
    def done(self) -> float:
        """Share of the run that is done, by the nearest of its limits."""
        return min(1.0, max((now / limit for _, now, limit in self._limits()), default=0.0))

    def _limits(self) -> Iterator[tuple[str, float, float]]:
        for setting, (metric, unit) in LIMITS.items():
            limit = self.config.get(setting)
            if limit:
                yield unit, float(self.latest.get(metric, 0)), float(limit)

    @property
    def finished(self) -> bool:
        """Whether nothing more is going to come."""
        if self.cell:
            return True
        # `coevo train` notes the number of updates in its summary when all is over.
        return self.done >= 1 and (not self.summary or "steps" in self.summary)

    @property
    def state(self) -> str:
        """What is going on, in words."""
        if self.cell:
            failed = self.cell.get("status") == "failed"
            return f"failed: {self.cell.get('reason')}" if failed else "finished"
        if self.finished:
            return "finished"
        if not self.lines:
            return f"making the first plays{self._quiet()}"
        if self.done >= 1:
            return f"measuring the trained model{self._quiet()}"
        return f"training{self._quiet()}"

    def _quiet(self) -> str:
        """Say so where nothing was written for long, and how a stopped run is continued."""
        paths = [self.path / "config.yaml", self._metrics.path, self.path / "summary.json"]
        silence = self._now() - max((p.stat().st_mtime for p in paths if p.exists()), default=0)
        if silence < max(QUIET, 10 * float(self.latest.get("seconds", 0.0))):
            return ""
        of_comparison = (self.path / ".lock").exists()
        hint = "" if of_comparison else f"; continue with: coevo train --resume {self.path}"
        return f"? no news for {clock(silence)}{hint}"

    def line(self) -> str:
        """Say everything in one line."""
        if not self.lines:
            return self.state
        shown = facts(self.step, self.latest, self.done)
        state = "" if self.state == "training" else f" | {self.state}"
        return " | ".join(f"{k} {v}" for k, v in shown.items() if v) + state

    # ---- The picture -------------------------------------------------------------------------

    def render(self, size: Size) -> RenderableType:
        """Draw it all; plays are told as far as there is room."""
        top: list[RenderableType] = [
            Text(self.title, style="bold", no_wrap=True, overflow="ellipsis"),
            Text(self.state, style=_style(self.state), no_wrap=True, overflow="ellipsis"),
            *self._bars(size.width),
            *([self._rates()] if self.lines else []),
        ]
        curves = self._curves(size) if self.lines else []
        used = len(top) + len(curves) + 2
        room = None if size.height is None else max(size.height - used, 0)
        told = list(self._told(room))
        parts = [*top, *([Text()] if curves else []), *curves, *([Text()] if told else []), *told]
        return Group(*parts)

    def _bars(self, width: int) -> Iterator[Table]:
        for unit, now, limit in self._limits():
            bar = Table.grid(padding=(0, 1))
            total = max(len(f"{limit:,.0f}"), 9)
            bar.add_column(width=8)
            bar.add_column(width=max(min(width - 2 * total - 20, 60), 5))
            bar.add_column(justify="right", no_wrap=True)
            count = f"{min(now / limit, 1):4.0%}  {now:,.0f} of {limit:,.0f}"
            bar.add_row(unit, ProgressBar(total=1.0, completed=min(now / limit, 1.0)), count)
            yield bar

    def _rates(self) -> Text:
        seconds, plays = self.latest.get("seconds", 0.0), self.latest.get("seconds/play", 0.0)
        recent = [line.get("seconds", 0.0) for line in self.lines[-20:]]
        parts = [
            f"{self.latest.get('tokens_per_second', 0.0):,.0f} tokens/s",
            f"{sum(recent) / len(recent):.2g} s per update",
            f"{share(plays / (seconds or 1))} of it playing",
            f"{clock(self.latest.get('total_seconds', 0.0))} so far",
            f"{time_left(self.latest.get('total_seconds', 0.0), self.done)} left",
        ]
        return Text(" | ".join(parts), no_wrap=True, overflow="ellipsis")

    def _curves(self, size: Size) -> list[RenderableType]:
        rows = curves(self.lines)
        wide = max(map(len, rows), default=0)
        return [self._curve(name, values, wide, size) for name, values in rows.items()]

    def _curve(self, name: str, values: Sequence[float], wide: int, size: Size) -> RenderableType:
        newest, low, high = (number(name, v) for v in (values[-1], min(values), max(values)))
        text = Text(no_wrap=True, overflow="crop")
        text.append(f"{name:<{wide}}").append(f"{newest:>9}", style="bold")
        text.append(f"{low:>10} .. {high:<8}", style="dim")
        room = max(min(size.width - len(text), MOST_POINTS), 1)
        return text.append(sparkline(values, room, size.levels), style="cyan")

    def _told(self, room: int | None) -> Iterator[Text]:
        """Tell as many of the newest plays as fit, none of them in part but the first."""
        left = math.inf if room is None else room
        for count, play in enumerate(pick(self.plays)):
            lines = [*([""] if count else []), *sketch(play)]
            if left < 1 or (count and len(lines) > left):
                return
            left -= len(lines)
            for line in lines[:room]:
                yield Text(line, no_wrap=True, overflow="ellipsis")


# ---- What is read ----------------------------------------------------------------------------


def read_config(path: Path) -> dict[str, Any]:
    """Read a config.yaml without building the run that it describes."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {' '.join(str(error).split())}") from None
    return data if isinstance(data, dict) else {}


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; empty where there is none, or none yet."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def clock(seconds: float) -> str:
    """Write a duration.

    >>> clock(90), clock(3725)
    ('1:30', '1:02:05')
    """
    return time_left(seconds, 0.5)


def _style(state: str) -> str:
    word = state.partition(":")[0]
    return {"finished": "green", "failed": "red"}.get(word, "yellow" if "?" in state else "cyan")
