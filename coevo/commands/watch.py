"""`coevo watch`: follow a run or a comparison in this terminal.

Exit status 0 once it is finished, 130 after Ctrl-C: `coevo watch DIR && coevo report DIR` waits
for the end. Watching only reads; leaving it stops nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from coevo.commands.arguments import Watch
from coevo.commands.screen import Screen
from coevo.commands.sparkline import LEVELS, PLAIN_LEVELS
from coevo.commands.watch_comparison import ComparisonView
from coevo.commands.watch_run import RunView, Size, read_json
from coevo.envs.core.errors import ConfigError, DataError, nearest

INTERRUPTED = 130
LINE_EVERY = 5.0
"""Seconds between lines where the output is no terminal."""
STARTED = ("config.yaml", "manifest.json")
"""The first file of a run, and of a comparison."""
FOOT = "Ctrl-C leaves; what is watched goes on"


class View(Protocol):
    """What can be watched."""

    @property
    def finished(self) -> bool:
        """Whether nothing more is going to come."""

    def refresh(self) -> None:
        """Read what was written since the last time."""

    def render(self, size: Size) -> RenderableType:
        """Draw it all."""

    def line(self) -> str:
        """Say everything in one line."""


class Waiting:
    """A folder in which nothing has begun yet.

    Args:
        path: the folder, which need not exist.
    """

    finished = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def refresh(self) -> None:
        """Do nothing: there is nothing to read."""

    def render(self, size: Size) -> RenderableType:
        """Say what is waited for."""
        return Text(self.line())

    def line(self) -> str:
        """Say what is waited for, and what there is instead."""
        if self.path.is_dir():
            return f"waiting for a run or a comparison to begin in {self.path}"
        return f"waiting for {self.path}, which does not exist yet{_beside(self.path)}"


def run(args: Watch) -> int:
    """Show a folder once, or until what it holds is finished."""
    if not args.every > 0:
        raise ConfigError(f"--every {args.every:g} must be above 0 seconds")
    path, screen = Path(args.folder), Screen()
    view = opened(path)
    if args.once:
        if isinstance(view, Waiting):
            raise DataError(f"nothing to watch: {view.line()}")
        screen.print(view.render(_size(screen, None)))
        return 0
    follower = _live if screen.is_terminal else _lines
    try:
        view = follower(view, path, screen, args.every)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def opened(path: Path, known: View | None = None) -> View:
    """Give the view of a folder, the known one if there is one already.

    Raises:
        DataError: the folder holds something else.
    """
    if known is not None and not isinstance(known, Waiting):
        return known
    if path.exists() and not path.is_dir():
        raise DataError(f"{path} is a file; watch takes the folder of a run or a comparison")
    manifest = read_json(path / "manifest.json")
    if manifest.get("kind") == "comparison":
        return ComparisonView(path, manifest)
    if manifest:
        kind = manifest.get("kind", "something else")
        raise DataError(f"{path} holds a {kind}; watch takes the folder of a run or a comparison")
    if (path / "config.yaml").is_file():
        return RunView(path)
    inside = sorted({p.parent.name for n in STARTED for p in path.glob(f"*/{n}")})
    if inside:
        raise DataError(f"{path} is a folder of runs; name one of them: {', '.join(inside)}")
    return Waiting(path)


def _beside(path: Path) -> str:
    """Name folders of a similar name that could be meant."""
    if not path.parent.is_dir():
        return ""
    found = [p for p in path.parent.iterdir() if p.is_dir()]
    near = nearest(path.name, [p.name for p in found])
    return f"; there is {' and '.join(str(path.parent / name) for name in near)}" if near else ""


def _size(screen: Screen, height: int | None) -> Size:
    plain = not screen.encoding.startswith("utf")
    return Size(screen.width, height, PLAIN_LEVELS if plain else LEVELS)


def _follow(view: View, path: Path, every: float, show: Callable[[View], None]) -> View:
    """Look at a folder again and again until what it holds is finished."""
    while True:
        view = opened(path, view)
        view.refresh()
        show(view)
        if view.finished:
            return view
        time.sleep(every)


def _live(view: View, path: Path, screen: Screen, every: float) -> View:
    """Follow on a screen of its own; the last picture stays in the terminal."""
    newest = view

    def show(seen: View) -> None:
        nonlocal newest
        newest = seen
        picture = seen.render(_size(screen, screen.height - 1))
        live.update(Group(picture, Text(FOOT, style="dim")), refresh=True)

    try:
        with Live(console=screen, screen=True, auto_refresh=False) as live:
            return _follow(view, path, every, show)
    finally:
        screen.print(newest.render(_size(screen, None)))


def _lines(view: View, path: Path, screen: Screen, every: float) -> View:
    """Follow in lines, one every few seconds, and end with the picture."""
    said, when = "", 0.0

    def show(seen: View) -> None:
        nonlocal said, when
        line, now = seen.line(), time.monotonic()
        if line != said and (not said or now - when >= LINE_EVERY):
            screen.say(line)
            said, when = line, now

    view = _follow(view, path, every, show)
    screen.print(view.render(_size(screen, None)))
    return view
