"""`coevo starter build`: make the starter model, with progress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from coevo.agents.models.folders import STARTER_MODEL
from coevo.benchmarks.starter.build import build
from coevo.benchmarks.starter.examples import SeedConfig
from coevo.benchmarks.starter.imitation import Report
from coevo.commands import players
from coevo.commands.arguments import StarterBuild
from coevo.commands.progress import Bar
from coevo.commands.screen import Screen
from coevo.envs.core.errors import ConfigError
from coevo.trainers.files import storage


def run(args: StarterBuild) -> int:
    players.quiet()
    config = SeedConfig(**_limits(args))
    out = Path(args.out) if args.out else STARTER_MODEL
    with storage(out):
        out.mkdir(parents=True, exist_ok=True)
        first = f"playing {config.turns:,} turns of every environment"
        _watched(first, lambda report: build(config, out, report))
    size = sum(p.stat().st_size for p in out.iterdir() if p.is_file()) / 2**20
    Screen().say(f"{out}: {size:.1f} MB; check it with: coevo starter check --model {out}")
    return 0


def _limits(args: StarterBuild) -> dict[str, Any]:
    asked = {"minutes": args.minutes, "turns": args.turns}
    for name, value in asked.items():
        if value is not None and value <= 0:
            raise ConfigError(f"--{name} {value:g} must be above 0")
    return {k: v for k, v in asked.items() if v is not None}


def _watched(first: str, work: Callable[[Report], Any]) -> None:
    """Do a training and show how far it is.

    `first` is what happens before the training begins; the work reports the share done and the
    running loss.
    """
    screen = Screen()
    screen.say(f"{first} ...")
    with Bar(screen) as bar:
        work(lambda done, loss: bar.show(done, f"imitating: loss {loss:.3f}"))
