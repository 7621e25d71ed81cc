"""What `coevo watch` shows of a comparison: a grid of its cells, what runs, what is left."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from coevo.commands.screen import cell as shown
from coevo.commands.screen import harmless
from coevo.commands.watch_cells import CellView, Durations, short
from coevo.commands.watch_run import Size, clock, read_json

SIGNS = {"waiting": "·", "running": "▸", "stopped": "‖", "done": "✓", "failed": "✗"}
PLAIN_SIGNS = {"waiting": ".", "running": ">", "stopped": "=", "done": "+", "failed": "x"}
STYLES = {"waiting": "dim", "running": "bold cyan", "stopped": "yellow", "done": "green"}
STYLES |= {"failed": "bold red"}
MOST_LISTED = 8
"""Running cells, and failures, that are told in words."""


class ComparisonView:
    """Follows the folder of a comparison.

    Args:
        path: the folder.
        manifest: what its manifest.json holds.
        now: gives the time of day in seconds.
    """

    def __init__(
        self, path: Path, manifest: Mapping[str, Any], now: Callable[[], float] = time.time
    ) -> None:
        self.path, self.manifest, self._now = path, manifest, now
        self.environments = [str(e) for e in manifest["environments"]]
        self.algorithms = [str(a) for a in manifest["algorithms"]]
        self.seeds = [int(s) for s in manifest["seeds"]]
        budgets = manifest.get("budgets", {})
        self.cells = {
            (env, algorithm, seed): CellView(
                env,
                algorithm,
                seed,
                path / "cells" / short(env) / algorithm.replace(":", "-") / str(seed),
                {k: v for k, v in budgets.get(env, {}).items() if v},
            )
            for env in self.environments
            for algorithm in self.algorithms
            for seed in self.seeds
        }
        self.refresh()

    def refresh(self) -> None:
        """Read where every cell stands."""
        for cell in self.cells.values():
            cell.refresh()
        self.tables = read_json(self.path / "comparison.json")

    # ---- Where it stands ---------------------------------------------------------------------

    def count(self) -> Counter[str]:
        """Count cells by their state."""
        return Counter(cell.state for cell in self.cells.values())

    @property
    def done(self) -> float:
        """Share of the cells that are over, those that run in part."""
        over = sum(1.0 if c.state == "failed" else c.done for c in self.cells.values())
        return over / len(self.cells)

    @property
    def finished(self) -> bool:
        """Whether nothing more is going to come."""
        return bool(self.tables) and not self._unfinished()

    def _unfinished(self) -> list[CellView]:
        return [c for c in self.cells.values() if c.state not in ("done", "failed")]

    @property
    def state(self) -> str:
        """What is going on, in words."""
        if self.finished:
            return "finished"
        if not self._unfinished():
            return "all cells are over; computing the tables"
        running = self.count()["running"]
        if running:
            return f"running {running} at a time, about {self.left()} left"
        return f"nothing runs; continue with: coevo compare --out {self.path}"

    def left(self) -> str:
        """Estimate the time until the last cell is over, measurements included.

        A cell is expected to take as long as others of its algorithm and environment did, else
        as others of its environment, else as any; so many at a time as run now.
        """
        expected = Durations(self.cells.values(), self._now())
        todo = [expected.left(cell) for cell in self._unfinished()]
        known = [seconds for seconds in todo if seconds is not None]
        if not known:
            return "?"
        total = statistics.fmean(known) * len(todo)
        return clock(max(total / max(self.count()["running"], 1), max(known)))

    def line(self) -> str:
        """Say everything in one line."""
        count = self.count()
        states = ", ".join(f"{count[s]} {s}" for s in SIGNS if count[s])
        return f"{self.done:.1%} of {len(self.cells)} cells: {states} | {self.state}"

    # ---- The picture -------------------------------------------------------------------------

    def render(self, size: Size) -> RenderableType:
        """Draw it all: with percents where there is room, else one sign for every cell."""
        plain = size.levels.isascii()
        signs = PLAIN_SIGNS if plain else SIGNS
        head = [*self._head(size), Text()]
        words = [*self._running(), *self._failures()]
        tail: list[RenderableType] = [*words, *map(Text, self.tables.get("headline", []))]
        tail = [Text(), *tail] if tail else []
        wide, rows = self._extent()
        room = None if size.height is None else size.height - len(head) - len(tail)
        full = wide <= size.width and (room is None or rows <= room)
        grid = [self._grid(env, signs) for env in self.environments]
        return Group(*head, *(grid if full else [self._small_grid(signs)]), *tail)

    def _extent(self) -> tuple[int, int]:
        """Give columns and lines of the large grid."""
        names = max(map(len, self.algorithms))
        return names + 8 * len(self.seeds) + 14, (len(self.algorithms) + 3) * len(self.environments)

    def _head(self, size: Size) -> Iterator[RenderableType]:
        yield _line(f"comparison of {', '.join(self.algorithms)}", "bold")
        yield _line(self.state, "green" if self.finished else "cyan")
        bar = Table.grid(padding=(0, 1))
        bar.add_column(width=max(min(size.width - 75, 40), 10))
        bar.add_column(no_wrap=True, overflow="ellipsis")
        bar.add_row(ProgressBar(total=1.0, completed=self.done), self.line().partition(" | ")[0])
        yield bar

    def _grid(self, env: str, signs: Mapping[str, str]) -> Table:
        metric = self.manifest.get("metrics", {}).get(env, {}).get("metric", "result")
        title = f"{short(env)} ({metric})"
        table = Table(title=title, title_justify="left", title_style="bold", box=None)
        table.add_column("algorithm", no_wrap=True)
        for seed in self.seeds:
            table.add_column(str(seed), justify="right", min_width=6, no_wrap=True)
        table.add_column("mean", justify="right", no_wrap=True)
        for algorithm in self.algorithms:
            cells = [self.cells[env, algorithm, seed] for seed in self.seeds]
            texts = [Text(c.text(signs), style=STYLES[c.state]) for c in cells]
            values = [c.result["value"] for c in cells if c.result.get("value") is not None]
            mean = shown(statistics.fmean(values)) if values else "-"
            table.add_row(algorithm, *texts, mean)
        return table

    def _small_grid(self, signs: Mapping[str, str]) -> Group:
        """Draw one row per algorithm, one sign per cell."""
        table = Table(box=None)
        table.add_column("algorithm", no_wrap=True)
        for env in self.environments:
            table.add_column(short(env), overflow="fold")
        for algorithm in self.algorithms:
            row = []
            for env in self.environments:
                cells = [self.cells[env, algorithm, seed] for seed in self.seeds]
                parts = [(signs[c.state], STYLES[c.state]) for c in cells]
                row.append(Text.assemble(*parts))
            table.add_row(algorithm, *row)
        return Group(table, _line("  ".join(f"{s} {n}" for n, s in signs.items()), "dim"))

    def _running(self) -> Iterator[Text]:
        now = [c for c in self.cells.values() if c.state == "running"]
        for c in now[:MOST_LISTED]:
            speed = f"{c.latest.get('tokens_per_second', 0.0):,.0f} tokens/s"
            step = f"update {c.latest.get('step', 0)}"
            yield _line(f"running: {c.name}: {c.done:.0%}, {step}, {speed}", "cyan")
        if len(now) > MOST_LISTED:
            yield _line(f"... and {len(now) - MOST_LISTED} more", "cyan")

    def _failures(self) -> Iterator[Text]:
        failed = [c for c in self.cells.values() if c.state == "failed"]
        for c in failed[:MOST_LISTED]:
            yield _line(f"failed: {c.name}: {c.result.get('reason')}", "red")
        if len(failed) > MOST_LISTED:
            yield _line(f"... and {len(failed) - MOST_LISTED} more failed", "red")


def _line(text: str, style: str = "") -> Text:
    return Text(harmless(text), style=style, no_wrap=True, overflow="ellipsis")
