"""Progress of a command: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column

from coevo.commands.screen import Screen, share
from coevo.envs.core.errors import CoevoError
from coevo.envs.core.quoting import visible

INTERRUPTED = 130
LINE_EVERY = 5.0


class Interrupted(CoevoError):
    """A person stopped a command; what was done is saved."""

    exit_code = INTERRUPTED


class Bar:
    """Shows how much of a command is done; a context manager."""

    def __init__(self, screen: Screen, *, quiet: bool = False) -> None:
        self.screen, self.quiet, self._written = screen, quiet, 0.0
        words = TextColumn("{task.percentage:>3.0f} % {task.description}", table_column=Column())
        columns = (BarColumn(20), words)
        shown = screen.is_terminal and not quiet
        self._bar = Progress(*columns, console=screen, transient=True, disable=not shown)
        self._task = self._bar.add_task("", total=1.0)

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def show(self, done: float, words: str) -> None:
        self._bar.update(self._task, completed=done, description=escape(visible(words)))
        if self.quiet or self.screen.is_terminal:
            return
        now = time.monotonic()
        if done >= 1 or now - self._written >= LINE_EVERY:
            self._written = now
            self.screen.say(f"{share(done)} {words}")


def facts(step: int, metrics: Mapping[str, Any], done: float) -> str:
    returns = {k.removeprefix("return/"): v for k, v in metrics.items() if k.startswith("return/")}
    entropies = [v for k, v in metrics.items() if k.rpartition("/")[2] == "entropy"]
    shown = {
        "update": str(step),
        "tokens/s": f"{metrics.get('tokens_per_second', 0.0):,.0f}",
        "return": ", ".join(f"{seat} {value:+.3f}" for seat, value in returns.items()),
        "forfeits": share(metrics.get("forfeit_rate")),
    }
    if metrics.get("turns"):
        replies = {"unread": "outcome/unread", "near misses": "outcome/near_misses"}
        shown |= {
            name: share(metrics.get(k, 0.0) / metrics["turns"]) for name, k in replies.items()
        }
    if "exploitability" in metrics:
        shown["exploitability"] = f"{metrics['exploitability']:.3f}"
    if entropies:
        shown["entropy"] = f"{sum(entropies) / len(entropies):.3f} nats/token"
    shown["left"] = time_left(metrics.get("total_seconds", 0.0), done)
    return " | ".join(f"{k} {v}" for k, v in shown.items())


def time_left(seconds: float, done: float) -> str:
    """Estimate what is left from what is done."""
    if done <= 0:
        return "?"
    left = round(seconds * (1 - done) / done)
    hours, rest = divmod(left, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
