"""URPO: a player gets better at unverified tasks, as long as it learns to referee beside it."""

import tempfile
from collections.abc import Callable
from pathlib import Path

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
    pairs,
)
from coevo.benchmarks.reproductions.run import Arm, Trained, World, trained

CHANGES = {**SETTINGS, "collect.episodes": 192}
WORLD = World(ID, 150, {"unlabelled": 0.5}, maker)
RANKINGS, KEPT = 24, 2000
ENOUGH = 0.05
"""By how much the player must get better, and the others must not."""


def _measure(end: Trained) -> dict[str, float]:
    net = end.run.learners["policy"].model
    assert isinstance(net, DigitNet)  # the maker's
    return {
        "unverified": accuracy(net, "min"),
        "verified": accuracy(net, "max"),
        "truth": judged(net, "min")["point"],
    }


def _ranked(algorithm: str) -> Callable[[int], dict[str, float]]:
    def measure(seed: int) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as name:
            known = Path(name) / "known.jsonl"
            known.write_text("\n".join(pairs(seed, KEPT)), encoding="utf-8")
            file = {
                "cycle.question_judge.of.path": str(known),
                "cycle.question_judge.of.count": RANKINGS,
            }
            with trained(WORLD, Arm(algorithm, file), seed, CHANGES) as end:
                return _measure(end)

    return measure


CLAIM = Claim(
    property="""Where half of the tasks are paid by the model's own verdict, it gets better at them
        if it learns to referee from known rankings beside, and not otherwise.""",
    source="""Lu et al. 2025, URPO, arXiv 2507.17515 (no code was found); reference: the share of
        right labels that the start was trained on""",
    minutes=9.0,
    on="toy",
    setting="""Half of the tasks ask for the largest of three digits, which is verified, half for
        the smallest, which is not; rankings of answers to the latter are in a file. One network of
        two hidden layers plays and referees; it starts right in about a third of the cases as a
        player, and with coin flips as a referee. 24 groups of 8 and 24 rankings in each of 150
        updates, Adam at 1e-3.""",
    measured="""Probability of the right answer to the unverified tasks, over all of them, and by
        how much it is above that of the start.""",
    chosen="""Signs and bounds were seen before in an experiment with a wider network and more
        updates, whose script was not kept; rate and number of updates after a look at a seed not
        used here.""",
    note="""a referee that is never taught likes what the player says already; the truth of the
        referee is about the wrong answers that the player is left with, not bounded""",
    world=WORLD,
    changes=CHANGES,
    arms={
        "start": lambda seed: {"unverified": accuracy(begun(Prompts(), seed), "min")},
        "urpo": _ranked("urpo"),
        "frozen": _ranked("urpo:frozen_referee"),
        "alone": Arm("urpo:no_rankings"),
    },
    measure=_measure,
    expect=(
        Expect("start: unverified tasks", "start.unverified", 0.35),
        Expect("urpo: unverified tasks", "urpo.unverified"),
        Expect(
            "urpo: gain on unverified tasks", "urpo.unverified - start.unverified", 0.132, ENOUGH
        ),
        Expect(
            "referee as it was: gain",
            "frozen.unverified - start.unverified",
            high=ENOUGH,
        ),
        Expect("no rankings: gain", "alone.unverified - start.unverified", high=ENOUGH),
        Expect("urpo: truth of the referee", "urpo.truth"),
        Expect("urpo: verified tasks", "urpo.verified"),
    ),
)
