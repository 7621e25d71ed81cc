"""URPO: a player gets better at what nobody verifies, as long as it learns to referee beside it.

Setting   Half of the tasks ask for the largest of three digits, which is verified, half for the
          smallest, which is not; rankings of answers to the latter are in a file. One network of
          two hidden layers plays and referees; it starts right in about a third of the cases as a
          player, and with coin flips as a referee. 24 groups of 8 and 24 rankings in each of 150
          updates, Adam at 1e-3.
Measured  Probability of the right answer to the unverified tasks, over all of them, and by how much
          it is above that of the start.
Chosen    Signs and bounds are those of our experiment with six digits, width 160 and 600 updates at
          3e-4 (0.349 at the start, 0.481 with URPO, 0.206 with a referee that stays as it was,
          0.143 without rankings); rate and number of updates after a look at a seed not used here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coevo.benchmarks.reproductions.digit_run import SETTINGS, trained
from coevo.benchmarks.reproductions.digits import DigitNet, Prompts, accuracy, begun, judged, pairs
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.trainers.algorithms import algorithm

STEPS, RANKINGS, KEPT = 150, 24, 2000
ENOUGH = 0.05
"""By how much the player must get better, and the others must not."""


def run(seeds: Sequence[int]) -> Outcome:
    """Train with rankings, without them, and under a referee that stays as it was."""
    start = [accuracy(begun(Prompts(), s), "min") for s in seeds]
    variants = (None, "frozen_referee", "no_rankings")
    full, frozen, alone = ([end(v, s) for s in seeds] for v in variants)
    right = [[accuracy(net, "min") for net in nets] for nets in (full, frozen, alone)]
    gain, stays, lost = (gaps(found, start) for found in right)
    return Outcome(
        (
            Row("start: unverified tasks", tuple(start), 0.349),
            Row("urpo: unverified tasks", tuple(right[0]), 0.481),
            Row("urpo: gain on unverified tasks", gain, 0.132, low=ENOUGH),
            Row("referee as it was: gain", stays, -0.143, high=ENOUGH),
            Row("no rankings: gain", lost, -0.206, high=ENOUGH),
            Row("urpo: truth of the referee", tuple(judged(n, "min").point for n in full), 0.71),
            Row("urpo: verified tasks", tuple(accuracy(net, "max") for net in full), 0.9),
        ),
        note="a referee that nobody teaches likes what the player says already; the truth of the "
        "referee is about the wrong answers that the player is left with, not bounded",
    )


def end(variant: str | None, seed: int) -> DigitNet:
    """Return the network after training with a variant of urpo."""
    with tempfile.TemporaryDirectory() as name:
        settings: dict[str, Any] = SETTINGS | {"collect.episodes": 192}
        if variant != "no_rankings":
            known = Path(name) / "known.jsonl"
            known.write_text("\n".join(pairs(seed, KEPT)), encoding="utf-8")
            settings |= {
                "cycle.question_judge.of.path": str(known),
                "cycle.question_judge.of.count": RANKINGS,
            }
        return trained(algorithm("urpo", variant, settings), 0.5, STEPS, seed).net


REPRODUCTION = Reproduction(
    name="urpo_referee",
    property="Where half of the tasks are paid by the model's own verdict, it gets better at them "
    "if it learns to referee from known rankings beside, and not otherwise.",
    source="Lu et al. 2025, URPO, arXiv 2507.17515 (no code was found); figures: our experiment "
    "with a network of two hidden layers on six digits",
    minutes=9.0,
    run=run,
    on="table",
)
