"""AutoEnv: one way of playing for all generated worlds gains the less the more worlds there are."""

from collections.abc import Callable, Mapping
from statistics import fmean

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.envs.grids.routes import STEPS, Cell
from coevo.envs.grids.rule_world import Level, RuleWorldConfig, Situation, advance, best, level

WORLDS, FEWEST, DRAWS = 36, 6, 200
TRIES, PLAYS, ROLLOUTS = 2, 200, 4
WAYS = (None, 0, 1, 2, 3)
RULES = RuleWorldConfig()
WANTED = {
    "coins": ("coin", "gem"),
    "gems first": ("gem",),
    "fruit": ("coin", "gem", "fruit"),
    "keys": ("key", "chest", "coin", "gem"),
    "all that pays": ("key", "chest", "coin", "gem", "fruit"),
    "anything": ("coin", "gem", "fruit", "key", "chest", "dust", "crate", "mud", "spring"),
}
"""Instruction -> kinds of things that its reader walks to, the nearest first."""
CAREFUL = ("trap", "bomb", "mud", "spring")
"""Kinds that a careful reader does not enter."""
Choose = Callable[[Situation, int], int | None]


def start(world: Level) -> Situation:
    return Situation(world.start, (1 << len(world.things)) - 1, 0, False)


def played(world: Level, now: Situation, step: int, choose: Choose) -> float:
    """Return what is earned to the end of an episode."""
    total = 0.0
    while step < RULES.steps:
        now, paid = advance(world, now, choose(now, step), step)
        total, step = total + paid, step + 1
    return total


def reader(world: Level, wanted: tuple[str, ...], careful: bool) -> Choose:
    """Return who walks to the nearest thing of some kinds, around walls and what it avoids."""

    def choose(now: Situation, step: int) -> int | None:
        there = [x for k, x in enumerate(world.things) if now.there >> k & 1]
        goals = {cell for cell, kind in there if kind in wanted and (kind != "chest" or now.keys)}
        shut = {cell for cell, kind in there if careful and kind in CAREFUL} - goals
        return heading(world.open - shut, now.at, goals)

    return choose


def heading(open_: frozenset[Cell], at: Cell, goals: set[Cell]) -> int | None:
    """Return the first step of a shortest way to a goal; None where there is none."""
    edge: list[tuple[Cell, int | None]] = [(at, None)]
    seen = {at}
    for cell, first in edge:
        if cell in goals and cell != at:
            return first
        for k, (down, across) in enumerate(STEPS):
            beyond = (cell[0] + down, cell[1] + across)
            if beyond in open_ and beyond not in seen:
                seen.add(beyond)
                edge.append((beyond, k if first is None else first))
    return None


def instructed(world: Level, rng: np.random.Generator) -> float:
    """Return what the best of some instructions earns that are drawn and tried once each."""
    every = [
        reader(world, kinds, careful) for kinds in WANTED.values() for careful in (False, True)
    ]
    drawn = rng.permutation(len(every))[:TRIES]
    return max(played(world, start(world), 0, every[k]) for k in drawn)


def best_of_n(world: Level, rng: np.random.Generator) -> float:
    """Return what the best of some random plays earns."""
    return max(played(world, start(world), 0, _randomly(rng)) for _ in range(PLAYS))


def looking_ahead(world: Level, rng: np.random.Generator) -> float:
    """Return what a player earns who goes on at random from every move before it makes one."""

    def choose(now: Situation, step: int) -> int | None:
        def worth(way: int | None) -> float:
            then, paid = advance(world, now, way, step)
            return paid + max(
                played(world, then, step + 1, _randomly(rng)) for _ in range(ROLLOUTS)
            )

        return max(WAYS, key=worth)

    return played(world, start(world), 0, choose)


def _randomly(rng: np.random.Generator) -> Choose:
    drawn = rng.integers(len(WAYS), size=RULES.steps)
    return lambda now, step: WAYS[drawn[step]]


METHODS = {"instructions": instructed, "best of n": best_of_n, "looking ahead": looking_ahead}


def _measured(seed: int) -> Mapping[str, float]:
    """Return shares of the maximum, means over worlds: of every method, and of the best ones."""
    worlds = [level(seed * WORLDS + k, RULES.things) for k in range(WORLDS)]
    most_W = np.array([best(world, RULES.steps)(start(world), RULES.steps) for world in worlds])
    rng = np.random.default_rng([seed, 3])
    earned_MW = np.array([[how(world, rng) for world in worlds] for how in METHODS.values()])
    share_MW = earned_MW / most_W
    few = [rng.permutation(WORLDS)[:FEWEST] for _ in range(DRAWS)]
    names = (name.replace(" ", "_") for name in METHODS)
    return {
        **dict(zip(names, share_MW.mean(axis=1).tolist(), strict=True)),
        "few": fmean(float(share_MW[:, some].mean(axis=1).max()) for some in few),
        "all": float(share_MW.mean(axis=1).max()),
        "each": float(share_MW.max(axis=0).mean()),
        "ratio": float((earned_MW.sum(axis=1) / most_W.sum()).max()),
    }


CLAIM = Claim(
    property="""The best single method gains less over many generated worlds than over a few, and
        less than the best method for each world, which is still below the maximum.""",
    source="""Zhang et al. 2025, AutoEnv, arXiv 2511.19304 (gains of a fixed learning method fall
        as worlds are added, choice per world stays above); the maximum: a search over all
        states""",
    minutes=0.5,
    on="scripted",
    setting=f"""`coevo/rule_world-v0`, {WORLDS} worlds a seed. Instructions: the best of {TRIES}
        that are drawn from {2 * len(WANTED)}, whose reader walks to the nearest thing of some
        kinds, and avoids bad ones or not. Best of n: {PLAYS} random plays. Looking ahead: before a
        move, {ROLLOUTS} random plays from each.""",
    measured=f"""Share of the maximum, mean over worlds: of each method; of the best single one for
        {FEWEST} worlds (mean of {DRAWS} draws) and for all; of the best for each world. Beside it
        the ratio of sums of the best single one, as the source has it.""",
    theory="""That more worlds and no choice gain less holds by construction; how much is
        measured.""",
    limits="""Scripts in the place of language models that learn, and tabular learning is left
        out.""",
    chosen="""How many instructions, plays and ways on are tried, after a look at six worlds, in
        which the best of all instructions was the maximum. Bounds before.""",
    arms={"worlds": _measured},
    expect=(
        *(Expect(name, f"worlds.{name.replace(' ', '_')}") for name in METHODS),
        Expect(f"best single method, {FEWEST} worlds", "worlds.few"),
        Expect(f"best single method, {WORLDS} worlds", "worlds.all"),
        Expect("best method for each world", "worlds.each", high=1.0),
        Expect("best single method, ratio of sums", "worlds.ratio"),
        Expect("few - many worlds", "worlds.few - worlds.all", low=0.0),
        Expect("each - single", "worlds.each - worlds.all", low=0.0),
    ),
)
