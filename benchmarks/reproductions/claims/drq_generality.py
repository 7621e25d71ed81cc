"""Digital Red Queen: do champions of all rounds as opponents make later champions more general?"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World, trained
from coevo.envs.redcode.assembler import assemble
from coevo.envs.redcode.battle import fight, placed
from coevo.envs.redcode.classics import CLASSICS
from coevo.envs.redcode.language import CoreRules, Warrior
from coevo.trainers.steps.challenge import CHAMPIONS

ROUNDS, UPDATES, CHILDREN, TASKS, DUELS = 8, 10, 20, 4, 20
WORLD = World("coevo/core_war-v0", ROUNDS * UPDATES, {"warriors": 1, "rounds": 1})
CHANGES = {
    "cycle.challenge.together": False,
    "cycle.challenge.tasks": TASKS,
    "cycle.challenge.children": CHILDREN,
    "cycle.challenge.updates": UPDATES,
}
RULES = CoreRules()
HELD_OUT = tuple(assemble(text, RULES) for name, text in CLASSICS.items() if name != "imp")
"""Classics that no run meets."""


def duel(one: Warrior, other: Warrior, entropy: list[int]) -> float:
    """Return what one gets against another from random places: 1 for a win, 1/2 for a tie.

    >>> imp = assemble("MOV 0, 1", RULES)
    >>> duel(imp, imp, [0]), duel(imp, assemble("DAT #0, #0", RULES), [0])
    (0.5, 1.0)
    """
    rng, score = np.random.default_rng(entropy), 0.0
    for number in range(DUELS):
        places, swapped = placed(2, RULES, rng), number % 2
        pair = (other, one) if swapped else (one, other)
        lived = [n == RULES.cycles for n in fight(pair, places, RULES).lived]
        mine, its = lived[swapped], lived[1 - swapped]
        score += (1 + mine - its) / 2
    return score / DUELS


def rounds(algorithm: str) -> Callable[[int], dict[str, float]]:
    """Return what evolves champions by an algorithm or its variant, and measures them."""

    def measure(seed: int) -> dict[str, float]:
        with trained(WORLD, Arm(algorithm, CHANGES), seed) as end:
            return measured(end)

    return measure


def measured(end: Trained) -> dict[str, float]:
    found = end.run.archive.living("program", CHAMPIONS)
    champions = [assemble(str(a.payload), RULES) for a in found]
    pairs = zip(champions[2:], champions, strict=False)
    older = [duel(new, old, [end.seed, k, 33]) for k, (new, old) in enumerate(pairs)]
    general = [
        fmean(duel(one, classic, [end.seed, k, 34]) for k, classic in enumerate(HELD_OUT))
        for one in champions
    ]
    return {
        "older": fmean(older),
        "early": fmean(general[:2]),
        "late": fmean(general[ROUNDS // 2 :]),
        "rise": fmean(general[ROUNDS // 2 :]) - fmean(general[:2]),
    }


CLAIM = Claim(
    property="""With the champions of all earlier rounds as opponents, champions beat those of two
        rounds before and become more general; with the last champion alone, or the first opponent
        in all rounds, less.""",
    source="""Kumar et al. 2026, Digital Red Queen, arXiv 2601.03335 (with a language model as
        mutator, 317 held-out warriors)""",
    minutes=10.0,
    on="scripted",
    setting=f"""`coevo/core_war-v0`, the pocket core (400 addresses, 4,000 cycles, 40 tasks, 20
        instructions). `drq` with random edits, {ROUNDS} rounds of {UPDATES * CHILDREN} children,
        each tried in duels from {TASKS} places with every opponent: imp and all champions, imp and
        the last champion, or imp alone.""",
    measured=f"""Score of a champion in {DUELS} duels with that of two rounds before (win 1, tie
        1/2), and its mean score against nine classics that were never opponents: rounds 1 and 2,
        and rounds 5 to 8.""",
    chosen="""Sizes by time; bounds (0.03 between arms, a rise of 0.02) before the figures were
        seen. Duels in the place of one core for all, as they are what is measured.""",
    note="""not reproduced: over eight seeds the scores against two rounds before are in the order
        of the source (all .563, last .535, first alone .498), but all minus last is .028, with a
        standard error of .011; held-out scores rise by .05, .06 and .02, and do not differ""",
    seeds=20,
    arms={"all": rounds("drq"), "last": rounds("drq:last"), "fixed": rounds("drq:fixed")},
    expect=(
        Expect("all champions: score against two rounds before", "all.older", low=0.5),
        Expect("last champion: score against two rounds before", "last.older"),
        Expect("first opponent alone: score against two rounds before", "fixed.older"),
        Expect("all minus last", "all.older - last.older", low=0.03),
        Expect("all minus first alone", "all.older - fixed.older", low=0.03),
        Expect("all champions: held-out score, rounds 1 and 2", "all.early"),
        Expect("all champions: held-out score, rounds 5 to 8", "all.late"),
        Expect("all champions: rise", "all.rise", low=0.02),
        Expect("last champion: rise", "last.rise"),
        Expect("first opponent alone: rise", "fixed.rise"),
        Expect("rise, all minus last", "all.rise - last.rise"),
        Expect("rise, all minus first alone", "all.rise - fixed.rise"),
    ),
)
