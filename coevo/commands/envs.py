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
        (s.id, s.seats, s.kind, "at once" if s.simultaneous else "in turn", s.summary)
        for s in specs
    ]
    columns = ("environment", "seats", "kind", "moves", "what it is")
    Screen().table(f"{len(rows)} environments", columns, rows)
    return 0
