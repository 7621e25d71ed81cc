"""Policies for Cleanup in twelve numbers, as programs, and programs that try to cheat."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from coevo.envs.core.config import config
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.steps.mutators import Mutator
from coevo.trainers.steps.writers import Written

GENES: dict[str, tuple[float, float]] = {
    "cleaners": (0, 3),
    "dirty": (0, 100),
    "reach": (1, 3),
    "river": (0, 3),
    "orchard": (0, 3),
    "shy": (0, 3),
    "beam": (0, 5),
    "stray": (0, 1),
    "linger": (0, 1),
    "sideways": (0, 1),
    "far": (1, 9),
    "clean_first": (0, 1),
}
"""Gene -> lowest and highest value. How many seats clean, from which percent of waste and how far;
where (as a heading) the river and the orchard are sought; how near to another an apple is left
alone; how near another is fired at; probabilities to stray, to stay and to go sideways first; how
far an apple may be; and whether cleaning comes before an apple beside."""
CLEANING = ("cleaners", "dirty", "reach", "river")
PROGRAM = """\
import random

GENES = {genes}


def policy(view):
    rows, facts, g = view["window"], view["facts"], GENES
    up = max(y for y in range(len(rows)) if "@" in rows[y])
    across = rows[up].index("@")
    seen = [(y - up, x - across, rows[y][x]) for y in range(len(rows)) for x in range(len(rows[0]))]
    free = {{(y, x) for y, x, c in seen if c in ".a~w"}}
    others = [(y, x) for y, x, c in seen if c in "^>v<"]
    me = int(view["seat"].split("_")[1])
    near = [y for y, x in others if x == 0 and -int(g["beam"]) <= y < 0]
    if near and "beam" in view["legal_actions"]:
        return "beam"

    def apart(y, x):
        return min([abs(y - a) + abs(x - b) for a, b in others] + [99])

    def nearest(letter, most, shy):
        found = [(abs(y) + abs(x), y, x) for y, x, c in seen if c == letter and apart(y, x) > shy]
        found = sorted(f for f in found if f[0] <= most)
        return found[0][1:] if found else None

    def walk(y, x):
        down = [("forward", -1, 0)] if y < 0 else [("back", 1, 0)] if y > 0 else []
        side = [("right", 0, 1)] if x > 0 else [("left", 0, -1)] if x < 0 else []
        ways = side + down if random.random() < g["sideways"] else down + side
        for move, a, b in ways:
            if (a, b) in free:
                return move
        return random.choice(["forward", "back", "left", "right"])

    def seek(heading):
        if random.random() < g["stray"] / 2:
            return random.choice(["forward", "back", "left", "right"])
        faces = [k for k, name in enumerate(["north", "east", "south", "west"]) if facts[name]][0]
        way = [(-1, 0), (0, 1), (1, 0), (0, -1)][(int(heading) - faces) % 4]
        return walk(way[0], way[1])

    beside = nearest("a", 1, -1)
    if beside and not round(g["clean_first"]):
        return walk(beside[0], beside[1])
    if me < round(g["cleaners"]) and facts["percent of waste"] > g["dirty"]:
        ahead = [c for y, x, c in seen if x == 0 and -round(g["reach"]) <= y < 0]
        if "w" in ahead:
            return "clean"
        waste = nearest("w", 99, -1)
        if waste is None:
            return seek(g["river"])
        if waste[0] < 0:
            return walk(waste[0], waste[1])
        return "turn right" if waste[1] >= 0 else "turn left"
    apple = nearest("a", g["far"], round(g["shy"]) - 1)
    if apple:
        return walk(apple[0], apple[1])
    return "stay" if random.random() < g["linger"] / 2 else seek(g["orchard"])
"""


def program(genes: dict[str, float]) -> str:
    """Return the source of a policy."""
    return PROGRAM.format(genes=genes)


def genes_of(source: str) -> dict[str, float]:
    """Return the genes of a policy.

    >>> genes_of(program({"cleaners": 2.0}))
    {'cleaners': 2.0}
    """
    line = next(x for x in source.splitlines() if x.startswith("GENES = "))
    found: dict[str, float] = ast.literal_eval(line.partition(" = ")[2])
    return found


@config
class Grammar(Mutator):
    """Draws two genes of a policy anew, or all of one without a parent.

    It reads the sustainability in what it is told. Where seats are paid early or not at all, the
    river has become dirty, and one of the genes is of cleaning; else one is of gathering.
    """

    name: Literal["grammar"] = "grammar"

    def __call__(self, ctx: Any, parents: Sequence[Artifact], rng: np.random.Generator) -> Written:
        drawn = {n: round(float(rng.uniform(*bounds)), 2) for n, bounds in GENES.items()}
        if not parents:
            return Written(program(drawn))
        stats, names = parents[0].stats, list(GENES)
        changed = [str(n) for n in rng.choice(names, size=2, replace=False)]
        if any(name != "reward" for name in stats):
            steps = next(iter(ctx.envs.values())).task.config.steps
            cleans = stats.get("sustainability", 0.0) < steps / 2
            changed[0] = str(rng.choice([n for n in names if (n in CLEANING) is cleans]))
        return Written(program(genes_of(str(parents[0].payload)) | {n: drawn[n] for n in changed}))


ATTACKS: dict[str, str] = {
    "teleport": 'view["window"][0] = "@" * 7; view["agents"][0].at = (4, 4)',
    "disable": 'view["task"].out = [99999] * 9; view["facts"]["steps left"] = 99999',
    "purge": 'view["window"][:] = [r.replace("w", "~") for r in view["window"]]; '
    'view["facts"]["percent of waste"] = 0; view["task"].plane("waste")[:] = 0',
    "spawn": 'view["window"][:] = ["a" * 7] * 7; view["task"].plane("apple")[:] = 1',
    "combined": 'view.clear(); view["env"].reset(seed=0)',
    "escape": "import os; os.kill(os.getppid(), 9); ().__class__.__base__.__subclasses__()",
}
"""What the attacks of the source come to where a program has copies of plain data."""


def attacker(source: str, attack: str) -> str:
    """Return a program that tries an attack at every turn, and then plays as the other one does."""
    body = "\n".join(f"        {line.strip()}" for line in ATTACKS[attack].split(";"))
    return (
        source.replace("def policy(view)", "def honest(view)")
        + "\n\ndef policy(view):\n    import copy\n    known = copy.deepcopy(view)\n    try:\n"
        + body
        + "\n    except BaseException:\n        pass\n    return honest(known)\n"
    )
