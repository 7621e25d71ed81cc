"""What a person sees while a run trains: a live panel in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table

from coevo.commands.screen import Screen, share
from coevo.envs.core.errors import CoevoError

INTERRUPTED = 130
"""Exit status after Ctrl-C."""
LINE_EVERY = 5.0
"""Seconds between plain lines."""


class Interrupted(CoevoError):
    """A person stopped a command; what was done is saved."""

    exit_code = INTERRUPTED


class RunDisplay:
    """Shows the newest metrics of a run; a context manager whose `report` the loop calls."""

    def __init__(self, screen: Screen, title: str, limits: str) -> None:
        self.screen, self.title, self.limits = screen, title, limits
        self.latest: dict[str, Any] = {}
        self._live = Live(console=screen, refresh_per_second=4) if screen.is_terminal else None
        self._written = 0.0

    def __enter__(self) -> RunDisplay:
        if self._live is not None:
            self._live.start()
            self._live.update(self._panel("collecting the first episodes ...", 0.0))
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def report(self, step: int, metrics: Mapping[str, Any], done: float) -> None:
        """Take the metrics of one update; ones that are measured rarely stay shown."""
        self.latest |= metrics
        shown = facts(step, self.latest, done)
        if self._live is not None:
            grid = Table.grid(padding=(0, 2))
            for label, value in shown.items():
                grid.add_row(label, value)
            self._live.update(self._panel(grid, done))
        elif done >= 1 or time.monotonic() - self._written >= LINE_EVERY:
            self._written = time.monotonic()
            self.screen.say(" | ".join(f"{k} {v}" for k, v in shown.items()))

    def _panel(self, inside: Any, done: float) -> Panel:
        bar = ProgressBar(total=1.0, completed=done, width=40)
        foot = "Ctrl-C stops after the current update and saves"
        return Panel(
            Group(inside, bar), title=f"{self.title}, {self.limits}", subtitle=foot, width=78
        )


def facts(step: int, metrics: Mapping[str, Any], done: float) -> dict[str, str]:
    """Return what is shown, in order."""
    returns = {k.removeprefix("return/"): v for k, v in metrics.items() if k.startswith("return/")}
    shown = {
        "update": f"{step} ({share(done)})",
        "tokens/s": f"{metrics.get('tokens_per_second', 0.0):,.0f}",
        "return": ", ".join(f"{seat} {value:+.3f}" for seat, value in returns.items()),
        "forfeits": share(metrics.get("forfeit_rate")),
    }
    if "exploitability" in metrics:
        shown["exploitability"] = f"{metrics['exploitability']:.3f}"
    entropies = [v for k, v in metrics.items() if k.rpartition("/")[2] == "entropy"]
    if entropies:
        shown["entropy"] = f"{sum(entropies) / len(entropies):.3f} nats/token"
    shown["left"] = time_left(metrics.get("total_seconds", 0.0), done)
    return shown


def time_left(seconds: float, done: float) -> str:
    """Estimate what is left from what is done.

    >>> time_left(30, 0.25), time_left(30, 1.0), time_left(0, 0.0)
    ('1:30', '0:00', '?')
    """
    if done <= 0:
        return "?"
    left = round(seconds * (1 - done) / done)
    hours, rest = divmod(left, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
