"""`coevo envs`: the environments, family by family."""

from __future__ import annotations

from dataclasses import asdict

from coevo.commands.arguments import Envs
from coevo.commands.screen import Screen, print_json
from coevo.envs import list_envs
from coevo.envs.core.registry import by_family


def run(args: Envs) -> int:
    specs = list_envs()
    if args.json:
        print_json([asdict(s) for s in specs])
        return 0
    screen = Screen()
    columns = ("environment", "seats", "kind", "moves", "what it is")
    for family, members in by_family(specs):
        rows = [
            (s.id, s.seats, s.kind, "at once" if s.simultaneous else "in turn", s.summary)
            for s in members
        ]
        screen.table(f"{family}: {len(rows)}", columns, rows)
    screen.say(f"{len(specs)} environments")
    return 0
