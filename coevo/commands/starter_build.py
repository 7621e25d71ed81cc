"""`coevo starter build`: make the starter model, with progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from coevo.agents.models.folders import STARTER_MODEL
from coevo.benchmarks.starter.build import build
from coevo.benchmarks.starter.examples import SeedConfig
from coevo.benchmarks.starter.imitation import Report
from coevo.commands import players
from coevo.commands.arguments import StarterBuild, StarterLesson
from coevo.commands.run_display import LINE_EVERY
from coevo.commands.screen import Screen, share
from coevo.envs.core.errors import ConfigError
from coevo.trainers.files import storage


def run(args: StarterBuild) -> int:
    """Build and say where the model lies."""
    players.quiet()
    config = _config(args)
    out = Path(args.out) if args.out else STARTER_MODEL
    with storage(out):
        out.mkdir(parents=True, exist_ok=True)
        _build(config, out)
    size = sum(p.stat().st_size for p in out.iterdir() if p.is_file()) / 2**20
    Screen().say(f"{out}: {size:.1f} MB; check it with: coevo starter check --model {out}")
    return 0


def _config(args: StarterBuild) -> SeedConfig:
    return SeedConfig(**limits(args))


def limits(args: StarterBuild | StarterLesson) -> dict[str, Any]:
    """Return the limits of a training that were given."""
    asked = {"minutes": args.minutes, "turns": args.turns}
    for name, value in asked.items():
        if value is not None and value <= 0:
            raise ConfigError(f"--{name} {value:g} must be above 0")
    return {k: v for k, v in asked.items() if v is not None}


def _build(config: SeedConfig, out: Path) -> None:
    watched(
        f"playing {config.turns:,} turns of every environment",
        lambda report: build(config, out, report),
    )


def watched(first: str, work: Callable[[Report], Any]) -> None:
    """Do a training while a bar, or a line now and then, shows how far it is.

    Args:
        first: what happens before the training begins.
        work: does it all, and tells what it is given the share done and the running loss.
    """
    screen = Screen()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as bar:
        task = bar.add_task(first, total=None)
        screen.say(f"{first} ...")
        written = time.monotonic()

        def report(done: float, loss: float) -> None:
            nonlocal written
            text = f"imitating: loss {loss:.3f}"
            bar.update(task, description=text, total=1.0, completed=done)
            if bar.disable and time.monotonic() - written >= LINE_EVERY:
                written = time.monotonic()
                screen.say(f"{text} | {share(done)}")

        work(report)
        bar.update(task, completed=1.0)
