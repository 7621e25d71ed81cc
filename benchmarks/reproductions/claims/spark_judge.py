"""SPARK: verdicts that were paid for make a judge of the solver; without them it stays a coin."""

from functools import lru_cache
from math import ceil

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.digits import (
    ID,
    SETTINGS,
    DigitNet,
    Prompts,
    accuracy,
    begun,
    judged,
    maker,
)
from coevo.benchmarks.reproductions.run import Arm, Trained, World, trained

EPISODES = 192
CHANGES = {**SETTINGS, "collect.episodes": EPISODES}
WORLD = World(ID, 100, {"unlabelled": 0.0}, maker)
ENOUGH = 0.02
"""By how much recycling must better the judge, and must not worsen the solver."""


@lru_cache(maxsize=64)
def _start(seed: int) -> DigitNet:
    return begun(Prompts(), seed)


def _measure(end: Trained) -> dict[str, float]:
    net = end.run.learners["policy"].model
    assert isinstance(net, DigitNet)  # the maker's
    own, solved = judged(net, "max")["point"], accuracy(net, "max")
    return {**judged(net, "max", _start(end.seed)), "own": own, "solved": solved}


def _equal_samples(seed: int) -> dict[str, float]:
    with trained(WORLD, Arm("spark"), seed, CHANGES) as end:
        found = _measure(end)
        samples = sum(EPISODES + update.get("items/answers", 0.0) for update in end.log)
    longer = ceil(samples / EPISODES)
    with trained(WORLD, Arm("spark:no_recycling"), seed, CHANGES, steps=longer) as end:
        return found | {f"longer_{name}": value for name, value in _measure(end).items()}


CLAIM = Claim(
    property="""Recycled verdicts make a judge of the solver's weights, of one answer and of two,
        and cost the solver nothing at equal updates; verifiable rewards alone leave it a coin, and
        without balance it says yes to all.""",
    source="""Liu et al. 2025, SPARK, arXiv 2509.22624 (one model solves and judges); references:
        what a coin, and a judge that says yes to all, comes to""",
    minutes=12.0,
    on="toy",
    setting="""The largest of three digits, which is verified. One network of two hidden layers
        solves and judges; it starts right in about a third of the cases as a solver, and with coin
        flips as a judge. 24 groups of 8 in each of 100 updates, Adam at 1e-3: `spark`, its variant
        `released`, whose questions are not balanced, and the control that learns from verdicts
        alone (`no_recycling`), in 100 updates, and in as many more as make up for the answers to
        questions that it does not sample.""",
    measured="""The judge on a fixed set, the answers of the solver at the start: probability of the
        truth about one answer, half of them right, and of the right one beside a wrong one; how
        often it says yes to them (0.3 are right). The solver, over all tasks.""",
    limits="""On the few answers that the trained solver still gets wrong the judge is hardly better
        than a coin. With as many samples the control solves more: here the questions cost more than
        they teach the solver.""",
    chosen="""The bounds are on signs, seen before in an experiment whose script was not kept;
        number of updates and bounds after a look at seed 0. The solver's bound was first set at
        equal samples, and missed: -0.045, deviation 0.016.""",
    note="judges are compared at equal samples; probabilities, not shares of right verdicts",
    world=WORLD,
    changes=CHANGES,
    arms={
        "spark": _equal_samples,
        "released": Arm("spark:released"),
        "alone": Arm("spark:no_recycling"),
    },
    measure=_measure,
    expect=(
        Expect("one answer, spark", "spark.point"),
        Expect("one answer, no recycling", "spark.longer_point", 0.5),
        Expect("gain", "spark.point - spark.longer_point", low=ENOUGH),
        Expect("two answers, spark", "spark.pair"),
        Expect("two answers, no recycling", "spark.longer_pair", 0.5),
        Expect("gain, two answers", "spark.pair - spark.longer_pair", low=ENOUGH),
        Expect("one answer, questions not balanced", "released.point", 0.5),
        Expect("it says yes, spark", "spark.yes"),
        Expect("it says yes, not balanced", "released.yes", 1.0, low=0.9),
        Expect("solver, spark", "spark.solved"),
        Expect("solver, no recycling, equal updates", "alone.solved"),
        Expect("gain, equal updates", "spark.solved - alone.solved", low=-ENOUGH),
        Expect("solver, no recycling, equal samples", "spark.longer_solved"),
        Expect("gain, equal samples", "spark.solved - spark.longer_solved"),
        Expect("one answer, own mistakes: gain", "spark.own - spark.longer_own"),
    ),
)
