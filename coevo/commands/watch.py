"""`coevo watch`: follow a run or a comparison in this terminal.

Exit status 0 once it is finished, 130 after Ctrl-C: `coevo watch DIR && coevo report DIR` waits
for the end. Watching only reads; leaving it stops nothing.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

from rich.console import Group
from rich.live import Live
from rich.text import Text

from coevo.benchmarks.report.sources import kind
from coevo.commands.arguments import Watch
from coevo.commands.run_display import INTERRUPTED, LINE_EVERY
from coevo.commands.screen import Screen
from coevo.commands.watch_comparison import ComparisonView
from coevo.commands.watch_run import RunView
from coevo.envs.core.errors import ConfigError, DataError, legible

View = RunView | ComparisonView
"""What can be watched."""


def run(args: Watch) -> int:
    """Show a folder once, or until what it holds is finished."""
    if not 0 < args.every < math.inf:
        raise ConfigError(f"--every {args.every:g} must be above 0 seconds, and finite")
    screen, path = Screen(), Path(args.folder)
    with legible(path):
        return _watch(args, screen, opened(path))


def _watch(args: Watch, screen: Screen, view: View) -> int:
    if args.once:
        screen.print(view.render())
        return 0
    try:
        (_live if screen.is_terminal else _lines)(view, screen, args.every)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def opened(path: Path) -> View:
    """Return the view of a folder; raise DataError where it holds nothing to watch."""
    found = kind(path)
    if found == "run":
        return RunView(path)
    if found == "comparison":
        return ComparisonView(path)
    raise DataError(f"{path} holds a {found}; watch takes the folder of a run or a comparison")


def _live(view: View, screen: Screen, every: float) -> None:
    """Follow on a screen of its own; what was shown last stays in the terminal."""
    foot = Text("Ctrl-C leaves; what is watched goes on", style="dim")
    try:
        with Live(console=screen, screen=True, auto_refresh=False) as live:
            live.update(Group(view.render(), foot), refresh=True)
            while not view.finished:
                time.sleep(every)
                view.refresh()
                live.update(Group(view.render(), foot), refresh=True)
    finally:
        screen.print(view.render())


def _lines(view: View, screen: Screen, every: float) -> None:
    """Follow in lines, one every few seconds, and end with everything."""
    said, when = "", -math.inf
    while True:
        line, now = view.line(), time.monotonic()
        if line != said and now - when >= LINE_EVERY:
            screen.say(line)
            said, when = line, now
        if view.finished:
            break
        time.sleep(every)
        view.refresh()
    screen.print(view.render())
