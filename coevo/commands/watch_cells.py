"""The cells of a comparison as their files tell: waiting, running, stopped, done or failed."""

from __future__ import annotations

import fcntl
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coevo.commands.watch_run import LIMITS, read_json
from coevo.trainers.tail import Tail, records

NEWEST_LINES = 1 << 16
"""Bytes at the end of a cell's metrics that are read."""
STATES = ("waiting", "running", "stopped", "done", "failed")
TELLING = 0.1
"""Share from which on a running cell tells how long it will take."""


@dataclass
class CellView:
    """One algorithm on one environment from one seed."""

    environment: str
    algorithm: str
    seed: int
    folder: Path
    budget: Mapping[str, float]
    """tokens, turns and seconds, those that are given."""
    state: str = "waiting"
    """One of STATES."""
    result: Mapping[str, Any] = field(default_factory=dict)
    latest: dict[str, Any] = field(default_factory=dict)
    began: float = 0.0
    """Time of day at which its folder was made."""
    ended: float = 0.0
    """Time of day of its newest file."""

    def __post_init__(self) -> None:
        self._metrics = Tail(self.folder / "metrics.jsonl", NEWEST_LINES)

    def refresh(self) -> None:
        """Read where the cell stands."""
        self.result = read_json(self.folder / "cell.json")
        if self.result:
            self.state = "failed" if self.result.get("status") == "failed" else "done"
            if not self.began:
                self._note_times()
        elif self.folder.is_dir():
            news = self._metrics.read()
            self.latest = {} if news.anew else self.latest
            for line in records(news.lines):
                self.latest |= line
            self._note_times()
            self.state = "running" if is_locked(self.folder / ".lock") else "stopped"
        else:
            self.state = "waiting"

    def _note_times(self) -> None:
        """Take the times of the first and the last file that a cell writes."""
        files = {p.name: p.stat().st_mtime for p in self.folder.iterdir()}
        self.began = files.get("config.yaml", 0.0)
        self.ended = files.get("cell.json", files.get("metrics.jsonl", self.began))

    @property
    def done(self) -> float:
        """Share of the training that is done, by the nearest limit."""
        if self.state == "done":
            return 1.0
        named = {setting.removeprefix("budget_"): metric for setting, (metric, _) in LIMITS.items()}
        shares = [float(self.latest.get(named[k], 0)) / v for k, v in self.budget.items() if v]
        return min(max(shares, default=0.0), 1.0)

    @property
    def name(self) -> str:
        """Spell the cell."""
        return f"{self.algorithm} on {short(self.environment)}, seed {self.seed}"

    def text(self, signs: Mapping[str, str]) -> str:
        """Write the cell in at most six characters."""
        if self.state == "running":
            return f"{self.done:.0%}"
        return f"({self.done:.0%})" if self.state == "stopped" else signs[self.state]


class Durations:
    """How long cells take from their first file to their last.

    Args:
        cells: of a comparison; those that are done count, and those that are well on their way.
        now: time of day in seconds.
    """

    def __init__(self, cells: Iterable[CellView], now: float) -> None:
        self._now = now
        self._known: dict[tuple[str, ...], list[float]] = {}
        for cell in cells:
            whole = self._whole(cell)
            if whole is not None:
                for key in _keys(cell):
                    self._known.setdefault(key, []).append(whole)

    def _whole(self, cell: CellView) -> float | None:
        if cell.state == "done":
            return max(cell.ended - cell.began, 0.0)
        if cell.state == "running" and cell.done >= TELLING:
            return max(self._now - cell.began, 0.0) / cell.done
        return None

    def left(self, cell: CellView) -> float | None:
        """Expect as long as others of its algorithm and environment took, or else as others did.

        The median: a comparison that was interrupted leaves cells that seem to have taken long.
        None where nothing is known.
        """
        for key in _keys(cell):
            if key in self._known:
                return statistics.median(self._known[key]) * (1 - cell.done)
        return None


def _keys(cell: CellView) -> list[tuple[str, ...]]:
    return [(cell.environment, cell.algorithm), (cell.environment,), ()]


def is_locked(path: Path) -> bool:
    """Tell whether a process works in a folder: it holds the lock."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def short(env_id: str) -> str:
    """Name an environment without its namespace and version.

    >>> short("coevo/kuhn_poker-v0")
    'kuhn_poker'
    """
    return env_id.rpartition("/")[2].rpartition("-v")[0]
