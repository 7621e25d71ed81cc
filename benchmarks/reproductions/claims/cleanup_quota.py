"""Cleanup: some who clean are best for all; with none, or with all, next to nothing is eaten."""

from collections.abc import Callable, Mapping
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect, Found
from coevo.envs import make

ENV, AGENTS, STEPS, GAMES = "coevo/cleanup-v0", 10, 300, 4
OPTIONS = {"agents": AGENTS, "map": "large", "steps": STEPS, "growth": 0.05, "dirty": 1.0}
QUOTAS = tuple(range(AGENTS + 1))


def play(options: Mapping[str, Any], seed: int) -> Mapping[str, float]:
    """Play a game of experts, without text; return its outcome."""
    task: Any = make(ENV, **options).task
    task.reset(np.random.default_rng(seed), {})
    while seats := task.to_move():
        task.play({seat: task.aim(task.seats.index(seat)) for seat in seats})
    return dict(task.outcome())


def efficiency(cleaners: int, seed: int) -> Mapping[str, float]:
    """Return apples per step, of all seats together, where so many of them clean."""
    games = [play({**OPTIONS, "cleaners": cleaners}, GAMES * seed + k) for k in range(GAMES)]
    return {"efficiency": fmean(game["efficiency"] for game in games)}


def _best(found: Found) -> tuple[float, ...]:
    """Return what the best quota comes to with each seed."""
    between = [found[f"clean_{k}"]["efficiency"] for k in QUOTAS[1:-1]]
    return max(between, key=fmean)


def _more(other: str) -> Callable[[Found], list[float]]:
    def gap(found: Found) -> list[float]:
        pairs = zip(_best(found), found[other]["efficiency"], strict=True)
        return [best - rest for best, rest in pairs]

    return gap


CLAIM = Claim(
    property="""In Cleanup the best quota of cleaners eats more than ten who only gather, and more
        than ten who only clean.""",
    source="""Gallego 2026, arXiv 2603.19453 (the rules and the measure), after Hughes et al. 2018,
        arXiv 1803.08884""",
    minutes=0.5,
    on="scripted",
    setting=f"""`coevo/cleanup-v0`, the large map (18 by 25), ten experts, {STEPS} steps, published
        growth and a river that is all waste at the start; {GAMES} games a seed.""",
    measured="""Efficiency: apples of all seats per step, by how many of ten clean while over a
        tenth of the river is waste.""",
    chosen="Steps and games, by their time; the bounds ask for no more than the signs.",
    arms={f"clean_{k}": partial(efficiency, k) for k in QUOTAS},
    expect=(
        *(Expect(f"{k} of {AGENTS} clean", f"clean_{k}.efficiency") for k in QUOTAS),
        Expect("best quota minus none", _more("clean_0"), low=0.1),
        Expect("best quota minus all", _more(f"clean_{AGENTS}"), low=0.1),
    ),
)
