"""`coevo envs`: the table of environments."""

from __future__ import annotations

from dataclasses import asdict

from coevo.commands.arguments import Envs
from coevo.commands.screen import Screen, print_json
from coevo.envs import list_envs


def run(args: Envs) -> int:
    """List every registered environment."""
    specs = list_envs()
    if args.json:
        print_json([asdict(s) for s in specs])
        return 0
    rows = [
        (
            s.id,
            s.seats,
            s.kind,
            "at once" if s.simultaneous else "in turn",
            _refs(s.refs),
            s.summary,
        )
        for s in specs
    ]
    columns = ("environment", "seats", "kind", "moves", "mean return of", "what it is")
    Screen().table(f"{len(rows)} environments", columns, rows)
    return 0


def _refs(refs: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in refs.items())
