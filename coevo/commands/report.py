"""`coevo report`: one HTML page about a run, a comparison or a tournament."""

from __future__ import annotations

from pathlib import Path

from coevo.benchmarks.report.page import report
from coevo.commands.arguments import Report
from coevo.commands.screen import Screen
from coevo.envs.core.errors import ConfigError


def run(args: Report) -> int:
    if args.episodes < 0:
        raise ConfigError(f"--episodes {args.episodes} must not be negative; 0 shows no episodes")
    out = Path(args.out) if args.out else None
    if out is not None and out.is_dir():
        raise ConfigError(
            f"--out {out} is a folder; expected a file, such as {out / 'report.html'}"
        )
    done = report(Path(args.folder), out, args.episodes)
    size = done.page.stat().st_size / 2**20
    episodes = f", {done.shown:,} of {done.episodes:,} episodes" if done.episodes else ""
    screen = Screen()
    screen.say(f"{done.page}: {done.kind}{episodes}, {size:.1f} MB")
    if done.plots:
        screen.say(f"{done.plots[0].parent}: {len(done.plots)} plots as SVG and PNG")
    return 0
