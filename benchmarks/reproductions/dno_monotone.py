"""Direct Nash optimisation: every iteration is preferred to the one before it.

Setting   Four arms whose preferences go in a circle (`preferences`), one table, the shipped loop:
          64 replies an update, every two of them a pair, 30 passes, eta 2.
Measured  How often a policy is preferred to the one before; the distance of a regression step from
          its closed form pi ~ pi_t exp(r / eta), exact r; the worst case of policies.
Chosen    Sizes. The control trains on fitted scores, which cannot say that a circle is one.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from coevo.benchmarks.reproductions.preferences import (
    P_AA,
    Course,
    course,
    fitted_scores,
    record,
    worst_case,
)
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row

ETA, STEPS, FITTED = 2.0, 100, 200
SETTINGS = {
    "collect.episodes": 64,
    "collect.group_size": 64,
    "optim.lr": 1.0,
    "optim.epochs": 30,
    "cycle.update.losses.dno.eta": ETA,
}


def run(seeds: Sequence[int]) -> Outcome:
    """Train by regression on win rates, and on fitted scores."""
    found = [course(record("dno", None, False, SETTINGS), STEPS, s) for s in seeds]
    fitted = [fitted_scores(FITTED, s) for s in seeds]
    return Outcome(
        (
            Row("least P(policy over the one before)", _least(found), 0.5, low=0.4995),
            Row("greatest KL(closed form || regression)", _distance(found), 0.0, high=1e-3),
            Row(
                "worst case of the average policy",
                tuple(worst_case(c.average) for c in found),
                0.49,
                low=0.47,
            ),
            Row("worst case of the last policy", tuple(worst_case(c.last) for c in found), 0.397),
            Row(
                "fitted scores: worst case of the last policy",
                tuple(worst_case(c.last) for c in fitted),
                0.20,
                high=0.25,
            ),
        ),
        note="a policy may be preferred to the one before it for ever and yet go round: the "
        "average is what is safe",
    )


def _least(courses: Sequence[Course]) -> tuple[float, ...]:
    return tuple(
        min(float(now @ P_AA @ before) for before, now in zip(c.p_UA, c.p_UA[1:], strict=False))
        for c in courses
    )


def _distance(courses: Sequence[Course]) -> tuple[float, ...]:
    """Return the greatest distance of a step from its closed form, in nats."""
    worst = []
    for c in courses:
        ideal_UA = (c.p_UA[:-1].log() + c.p_UA[:-1] @ P_AA.T / ETA).log_softmax(-1)
        kl_U = (ideal_UA.exp() * (ideal_UA - c.p_UA[1:].log())).sum(-1)
        worst.append(float(torch.max(kl_U)))
    return tuple(worst)


REPRODUCTION = Reproduction(
    name="dno_monotone",
    property="Regression on win rates gives the step of exponential weights; every policy is "
    "preferred to the one before it, and the average of all is beaten by no arm.",
    source="Rosset et al. 2024, DNO, arXiv 2404.03715 (algorithm 1; monotone improvement); "
    "figures: our numpy experiment, exact steps with eta = 2",
    minutes=4.0,
    run=run,
    on="table",
)
