"""Writing to the terminal: tables, JSON, and text without control characters."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from coevo.envs.core.quoting import json_text, visible

PIPED_WIDTH = 160
"""Columns where there is no terminal to ask."""


class Screen(Console):
    """A console that prints brackets as they are and lets a closed pipe be an error."""

    def __init__(self) -> None:
        """Take the terminal's width, or a fixed one where the output goes to a file."""
        width = None if sys.stdout.isatty() else PIPED_WIDTH
        super().__init__(markup=False, highlight=False, emoji=False, width=width)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def say(self, text: str = "") -> None:
        """Print one line that is never wrapped in the middle of a path."""
        self.print(visible(text), soft_wrap=True)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print a table; numbers are written short and None as a dash."""
        table = Table(title=visible(title), title_justify="left", title_style="bold")
        for place, name in enumerate(columns):
            table.add_column(visible(name), overflow="fold", no_wrap=place == 0)  # names are copied
        for row in rows:
            table.add_row(*map(cell, row))
        self.print(table)


def print_json(data: Any) -> None:
    sys.stdout.write(json_text(data, indent=2) + "\n")


def cell(value: object) -> str:
    """Write a value the way a person wants to read it; nothing in it steers a terminal."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else visible(str(value))


def share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
