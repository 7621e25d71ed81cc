"""Preferences in a circle: self-play on win rates finds the minimax winner, scores do not.

Setting   Four arms (`preferences`), one table, the shipped loop. `spo` with groups of 8 whose
          comparisons are drawn; `sppo` with groups of 16, beta 5 and probabilities that are known,
          on every two replies of a group, and on the best and worst of 5 (variant `extremes`).
Measured  How often the average policy, and the last, is preferred to the arm that beats it most.
Chosen    Step sizes, 1000 and 400 updates; the papers have no such figure. SPO's guarantee is for
          the average policy; the last one goes round.
"""

from __future__ import annotations

from collections.abc import Sequence

from coevo.benchmarks.reproductions.preferences import (
    Course,
    course,
    fitted_scores,
    record,
    worst_case,
)
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row

SPO = {"collect.episodes": 8, "optim.lr": 0.4}
SPPO = {
    "collect.episodes": 16,
    "collect.group_size": 16,
    "optim.lr": 1.0,
    "cycle.update.losses.sppo.beta": 5.0,
}
EXTREMES = {**SPPO, "collect.episodes": 5, "collect.group_size": 5}
STEPS, SQUARES, FITTED = 1000, 400, 200


def run(seeds: Sequence[int]) -> Outcome:
    """Train on comparisons by two algorithms, and on fitted scores."""
    spo = [course(record("spo", None, True, SPO), STEPS, s) for s in seeds]
    every = [course(record("sppo", None, False, SPPO), SQUARES, s) for s in seeds]
    ends = [course(record("sppo", "extremes", False, EXTREMES), SQUARES, s) for s in seeds]
    fitted = [fitted_scores(FITTED, s) for s in seeds]
    return Outcome(
        (
            Row("fitted scores: worst case of the last policy", _last(fitted), 0.20, high=0.25),
            Row("spo: worst case of the average policy", _average(spo), 0.486, low=0.47),
            Row("spo: worst case of the last policy", _last(spo), 0.38),
            Row("spo: average probability of the dominated arm", _dominated(spo), 0.03, high=0.05),
            Row("sppo, every two: worst case of the average policy", _average(every), low=0.47),
            Row("sppo, best and worst: worst case of the average policy", _average(ends)),
        ),
        note="the best and the worst of five are a biased sample of the win rates: where "
        "preferences go in a circle it costs sppo what the guarantee promises",
    )


def _average(courses: Sequence[Course]) -> tuple[float, ...]:
    return tuple(worst_case(c.average) for c in courses)


def _last(courses: Sequence[Course]) -> tuple[float, ...]:
    return tuple(worst_case(c.last) for c in courses)


def _dominated(courses: Sequence[Course]) -> tuple[float, ...]:
    return tuple(float(c.average[-1]) for c in courses)


REPRODUCTION = Reproduction(
    name="spo_minimax",
    property="Where preferences go in a circle, the average policy of self-play on win rates is "
    "beaten by no arm, and the best arm by fitted scores loses four of five comparisons.",
    source="Swamy et al. 2024, SPO, arXiv 2401.04056 (the average policy of a learner without "
    "regret is a minimax winner); Wu et al. 2024, SPPO, arXiv 2405.00675; figures of spo and of "
    "fitted scores: our numpy experiment with a step of 0.1 and 4000 updates",
    minutes=8.0,
    run=run,
    on="table",
)
