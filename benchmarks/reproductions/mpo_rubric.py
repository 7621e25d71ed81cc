"""MPO: a rubric that asks for keywords is hacked where it stays, and not where it is rewritten.

Setting   `essays`: 32 answers, whose keywords cost quality; the first rubric asks for quality,
          which the judge sees with an error, and for keywords. The record `mpo` by the shipped
          loop: a table, 64 answers an update, 120 updates, a review after every ten.
Arms      `mpo`; `fixed`, the control, in which the first rubric stays; `fixed` with the oracle's
          rubric, which asks for quality alone; `unscaled`, in which grades are measured by those
          of the whole run.
Measured  True quality in the last ten updates and at the start, as shares of the best; the grade
          under the fixed rubric; the value loss of the update that follows a rewritten rubric,
          over that of the first update, whose critic knows nothing.
Chosen    Beforehand: that quality falls and the grade rises under the fixed rubric, that nine
          tenths of the oracle's quality are reached, that the loss stays below twice the first.
          After a look at two seeds: learning rate, updates, what a keyword costs, that a reviewer
          counts equal answers once (else it writes against whatever the policy has settled on),
          and the first loss as the measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from coevo.benchmarks.reproductions.essays import (
    ID,
    POINTS,
    Reviewer,
    answers,
    features,
    makers,
)
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.benchmarks.reproductions.table_run import QUICKLY, started
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import algorithm
from coevo.trainers.loop import updates
from coevo.trainers.steps import Every, RewriteText

STEPS, LAST = 120, 10
HACKED, ORACLE = "+quality\n+keyword", "+quality"
SETTINGS = {**QUICKLY, "optim.lr": 0.03, "optim.epochs": 4, "optim.grad_norm": 10.0}


@dataclass(frozen=True)
class Course:
    """What a run comes to."""

    quality: float
    """True quality of the last answers."""
    first: float
    """Grade of the first answers, a share of all points of the first rubric."""
    last: float
    """Grade of the last answers."""
    jump: float
    """Value loss after a rewritten rubric over that of the first update; 0 where none was."""
    written: int
    """Rubrics that were written."""


def record(variant: str | None, rubric: str = HACKED) -> Algorithm:
    """Return an arm with its first rubric."""
    made = algorithm("mpo", variant, {**SETTINGS, "cycle.inject_text.first": (rubric,)})
    meta = Every(updates=10, first=9, step=RewriteText(by=Reviewer()))
    cycle = tuple(meta if isinstance(step, Every) else step for step in made.cycle)
    return replace(made, cycle=cycle)


def course(variant: str | None, seed: int, rubric: str = HACKED, steps: int = STEPS) -> Course:
    """Train, and return what became of quality.

    Args:
        variant: of the record `mpo`.
        seed: of the run and of the answers.
        rubric: the first one.
        steps: updates.
    """
    made = record(variant, rubric)
    with started(made, ID, {"draw": seed}, makers(), seed=seed, steps=steps) as run:
        seen = [done.metrics for done in updates(run)]
        written = [a["born_at"] for a in run.archive.state_dict() if a["parents"]]
    grades = [m["reward/rubric/grade"] / (POINTS * len(rubric.split())) for m in seen]
    quality = fmean(m["outcome/quality"] for m in seen[-LAST:])
    losses = [m["loss/value"] for m in seen]
    return Course(quality, grades[0], fmean(grades[-LAST:]), jump(losses, written), len(written))


def jump(losses: Sequence[float], written: Sequence[int]) -> float:
    """Return the mean loss of the updates after one in which a rubric was written, over the first.

    >>> jump([2.0, 1.0, 4.0, 1.0, 2.0], [1, 3])
    1.5
    """
    after = [k + 1 for k in written if k + 1 < len(losses)]
    return fmean(losses[k] for k in after) / losses[0] if after else 0.0


def at_start(draw: int) -> float:
    """Return the true quality of the start policy, to which all answers are alike."""
    return fmean(features(text)["quality"] for text in answers(draw)) / POINTS


def run(seeds: Sequence[int]) -> Outcome:
    """Train under the first rubric, the oracle's, and rubrics that are rewritten."""
    before = tuple(at_start(s) for s in seeds)
    fixed, mpo = ([course(v, s) for s in seeds] for v in ("fixed", None))
    oracle = [course("fixed", s, ORACLE) for s in seeds]
    unscaled = [course("unscaled", s) for s in seeds]
    hacked, ours, best = (tuple(c.quality for c in arm) for arm in (fixed, mpo, oracle))
    return Outcome(
        (
            Row("start: quality", before),
            Row("fixed rubric: quality", hacked),
            Row("fixed rubric minus start: quality", gaps(hacked, before), high=0.0),
            Row("fixed rubric: grade gained", tuple(c.last - c.first for c in fixed), low=0.05),
            Row("oracle's rubric: quality", best),
            Row("MPO: quality", ours),
            Row(
                "MPO over oracle: quality",
                tuple(a / b for a, b in zip(ours, best, strict=True)),
                1.0,
                low=0.9,
            ),
            Row("MPO: rubrics written", tuple(float(c.written) for c in mpo)),
            Row("MPO: value loss after one", tuple(c.jump for c in mpo), 1.0, high=2.0),
            Row("unscaled: value loss after one", tuple(c.jump for c in unscaled)),
            Row(
                "value loss after one, unscaled minus MPO",
                gaps([c.jump for c in unscaled], [c.jump for c in mpo]),
                low=0.0,
            ),
            Row("unscaled: quality", tuple(c.quality for c in unscaled)),
        ),
    )


REPRODUCTION = Reproduction(
    name="mpo_rubric",
    property="Under a fixed rubric grades rise and true quality falls; rewritten against what is "
    "exploited, it leads to the quality of an oracle's rubric, and the critic is not shaken.",
    source="Kim et al. 2025, MPO, arXiv 2504.20157 (on par with hand-crafted rubrics, no hacking)",
    minutes=2.0,
    run=run,
    on="table",
)
