"""Cultural evolution: donations rise where strategies are copied from those who did well."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.donor_sentences import LEVELS, Levels, Numbers, carrier
from coevo.benchmarks.reproductions.run import Arm, World, trained
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.steps import EvolveTexts
from coevo.trainers.steps.writers import Newcomer

GENERATIONS, LONG, POPULATIONS = 10, 60, 4
PAPER = {"players": 12, "rounds": 12, "trace": 3}
DONATED = "outcome/donated/generation_0"


def evolved(
    by: Newcomer,
    shown: int = 1,
    generations: int = GENERATIONS,
    levels: int = len(LEVELS),
    **options: Any,
) -> Callable[[int], Mapping[str, float]]:
    """Return what evolves populations, and gives the mean share in their first and last generation.

    Every newcomer is shown `shown` survivors; `levels` shares may be given.
    """

    def edit(made: Algorithm, seed: int) -> Algorithm:
        first, *played = made.cycle
        assert isinstance(first, EvolveTexts)
        return replace(made, cycle=(replace(first, by=by, shown=shown), *played))

    game = {**PAPER, "levels": levels, **options}
    world = World("coevo/donor_game-v0", generations, game, lambda seed: carrier(levels))

    def measure(seed: int) -> Mapping[str, float]:
        first, last = [], []
        for k in range(POPULATIONS):
            with trained(
                world, Arm("cultural_evolution", edit=edit), POPULATIONS * seed + k
            ) as end:
                first.append(end.first(DONATED))
                last.append(end.last(1, DONATED))
        return {"first": fmean(first), "last": fmean(last), "rise": fmean(last) - fmean(first)}

    return measure


CLAIM = Claim(
    property="""Donations rise over generations where newcomers copy strategies of those who did
        well, and not where they draw their own; numeric rules with errors collapse.""",
    source="Vallinder and Hughes 2024, arXiv 2412.10270 (rise with one of three models)",
    minutes=5.0,
    on="scripted",
    setting="""The donor game with 12 players and 12 rounds, two games a generation, the paper's
        trace of 3. Twelve sentences (`donor_sentences`) are carried out by a program in the seat of
        the model; `cultural_evolution`, 10 generations. A newcomer is shown one survivor, drawn at
        random. A figure of a seed is a mean over 4 populations. Copied: of ten newcomers nine
        repeat what they were shown. Fresh: all draw any sentence. No trace: copied, but what others
        gave is hidden. Standing: refusing a defector is excused, with traces of 3 and of 1. Null:
        numeric rules copied with Gaussian errors, 60 generations.""",
    measured="Mean share that is given in the first and the last generation.",
    chosen="""After a look, in a numpy sketch of this game, at about forty grammars. With
        unconditional givers in them, with separate levels for strangers, good and bad, with
        discriminators that have their own level and half defectors, donations fall: givers feed the
        defectors. What rises is this: one level is both what is given and what is asked of others,
        so that a population begins at odds (0.07) and copying makes it agree. Bounds are from the
        sketch, whose rise is 0.33 (deviation 0.38 over 60 populations; 0.00 and 0.05 where fresh).
        The null begins with slopes from -1 to 1, as a rule knows neither sign: it falls to 0.03 or
        less in 19 of 20 sketches, and with positive slopes alone in 5 of 20.""",
    note="""the paper's language models give less with a trace of 1; these sentences do not need a
        longer one, and a rule that excuses refusals lets defectors pass that met defectors""",
    arms={
        "copied": evolved(Levels()),
        "fresh": evolved(Levels(), shown=0),
        "blind": evolved(Levels(), trace=0),
        "standing": evolved(Levels(standing=True)),
        "short": evolved(Levels(standing=True), trace=1),
        "null": evolved(Numbers(), generations=LONG, levels=21),
    },
    expect=(
        Expect("copied: share given at first", "copied.first"),
        Expect("copied: share given at last", "copied.last"),
        Expect("copied: rise", "copied.rise", low=0.1),
        Expect("fresh: rise", "fresh.rise", 0.0, low=-0.1, high=0.1),
        Expect("copied minus fresh: rise", "copied.rise - fresh.rise", low=0.1),
        Expect("copied, no trace: rise", "blind.rise", high=0.0),
        Expect("standing, trace of 3: rise", "standing.rise"),
        Expect("standing, trace of 1: rise", "short.rise"),
        Expect("null: share given at first", "null.first"),
        Expect(f"null: share given in generation {LONG}", "null.last", 0.03, high=0.2),
    ),
)
