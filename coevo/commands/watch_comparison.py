"""What `coevo watch` shows of a comparison: its runs, what trains, what failed, what is left."""

from __future__ import annotations

import fcntl
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from coevo.benchmarks.files import read_if_there, read_json, short
from coevo.benchmarks.report.sources import LIMITS, Run, runs
from coevo.commands.run_display import time_left
from coevo.commands.screen import cell
from coevo.commands.watch_run import bars
from coevo.envs.core.quoting import visible
from coevo.trainers.tail import Tail, records

NEWEST_LINES = 1 << 16
"""Bytes at the end of a run's metrics that are read."""
STYLES = {"waiting": "dim", "running": "cyan", "stopped": "yellow", "done": "green"}
STYLES |= {"failed": "bold red"}
"""State of a run -> how it is written."""


class ComparisonView:
    """Follows the folder of a comparison.

    Args:
        path: the folder, with its manifest.json.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.manifest = path, read_json(path / "manifest.json")
        self._metrics: dict[Path, Tail] = {}
        self._latest: dict[Path, dict[str, Any]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read where every run stands."""
        self.runs = runs(self.path, self.manifest)
        self.states = {run.path: self._read(run) for run in self.runs}
        self.tables = read_if_there(self.path / "comparison.json")

    def _read(self, run: Run) -> str:
        if run.result:
            return "failed" if run.result.get("status") == "failed" else "done"
        if not run.path.is_dir():
            return "waiting"
        tail = self._metrics.setdefault(
            run.path, Tail(run.path / "metrics.jsonl", newest=NEWEST_LINES)
        )
        news = tail.read()
        for line in records(news.lines):
            self._latest[run.path] = line
        return "running" if _is_locked(run.path / ".lock") else "stopped"

    def share_done(self, run: Run) -> float:
        """Return the share of a run that is done, by the nearest limit."""
        if run.result:
            return 1.0
        latest = self._latest.get(run.path, {})
        budgets = self.manifest.get("budgets", {})
        own = {
            k: v for e, b in budgets.items() if short(e) == run.environment for k, v in b.items()
        }
        used = {setting.removeprefix("budget_"): metric for setting, (metric, _) in LIMITS.items()}
        shares = [float(latest.get(used[k], 0)) / v for k, v in own.items() if v]
        return min(max(shares, default=0.0), 1.0)

    @property
    def count(self) -> Counter[str]:
        """Number of runs by their state."""
        return Counter(self.states.values())

    @property
    def finished(self) -> bool:
        """Whether nothing more is going to come."""
        return bool(self.tables) and all(run.result for run in self.runs)

    @property
    def state(self) -> str:
        """What is going on, in words."""
        if self.finished:
            return "finished"
        if all(run.result for run in self.runs):
            return "all runs are over; computing the tables"
        if self.count["running"]:
            return f"running {self.count['running']} at a time, about {self._left()} left"
        return f"nothing runs; continue with: coevo compare --out {self.path}"

    def _left(self) -> str:
        """Estimate the time left from the training time of runs that are done."""
        known = [run.result["seconds"] for run in self.runs if run.result.get("seconds")]
        if not known:
            return "?"
        todo = sum(1 - self.share_done(run) for run in self.runs)
        return time_left(todo * statistics.median(known) / self.count["running"], 0.5)

    def line(self) -> str:
        """Say everything in one line."""
        done = sum(map(self.share_done, self.runs)) / len(self.runs)
        states = ", ".join(f"{self.count[s]} {s}" for s in STYLES if self.count[s])
        return f"{done:.1%} of {len(self.runs)} runs: {states} | {self.state}"

    def render(self) -> RenderableType:
        """Return a table per environment, the runs that train, the failures and the result."""
        failed = [run for run in self.runs if self.states[run.path] == "failed"]
        return Group(
            Text(visible(f"comparison of {', '.join(self.manifest['algorithms'])}"), style="bold"),
            Text(visible(self.line())),
            *(self._table(env) for env in self.manifest["environments"]),
            self._progress(),
            *(Text(visible(f"{r.name}: {r.result.get('reason')}"), "red") for r in failed),
            *map(Text, self.tables.get("headline", [])),
        )

    def _table(self, env: str) -> Table:
        """Return the states of the runs of one environment, and the mean result."""
        metric = self.manifest.get("metrics", {}).get(env, {}).get("metric", "result")
        table = Table("algorithm", title=f"{short(env)} ({metric})", title_justify="left")
        for head in (*STYLES, "mean"):
            table.add_column(head, justify="right")
        for algorithm in self.manifest["algorithms"]:
            own = [r for r in self.runs if (r.environment, r.algorithm) == (short(env), algorithm)]
            count = Counter(self.states[run.path] for run in own)
            values = [v for run in own if (v := run.result.get("value")) is not None]
            shown = [Text(str(count[s]), style) for s, style in STYLES.items()]
            table.add_row(
                visible(algorithm), *shown, cell(statistics.fmean(values) if values else None)
            )
        return table

    def _progress(self) -> Progress:
        progress = bars("update {task.fields[step]}, {task.fields[speed]:,.0f} tokens/s")
        for run in self.runs:
            if self.states[run.path] in ("running", "stopped"):
                latest = self._latest.get(run.path, {})
                speed, step = latest.get("tokens_per_second", 0.0), latest.get("step", 0)
                named = f"{run.name} ({self.states[run.path]})"
                progress.add_task(
                    named,
                    completed=round(100 * self.share_done(run)),
                    total=100,
                    step=step,
                    speed=speed,
                )
        return progress


def _is_locked(path: Path) -> bool:
    """Return whether a process works in a folder: it holds the lock."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
