"""CoMAS on tables: what makes it work, what its scoring is for, and which judges it survives.

Setting    Two agents with tables for every role, 20 questions with 5 answers, one round of review
           per question (`coevo/peer_review-v0` with listed replies, `review_table`), by the shipped
           loop: 48 questions per update, 300 updates of plain steps of 32. Solvers guess at first;
           scorers call a right solution right more often than a wrong one by a margin in their
           logits.
Measured   The record `comas` as it trains language models (whitening per agent over all roles),
           its variant `role`, and its control `no_scoring`, which pays by votes. Accuracy is exact,
           of the tables at the end; rewards and invalid scores are those of the last 30 updates.
Chosen     The tables, where they start (`review_table`) and the bounds; the paper reports 3B
           models, among them both ablations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from torch import Tensor

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.benchmarks.reproductions.review_table import (
    ANSWERS,
    ID,
    QUESTIONS,
    ROWS,
    Drill,
    starts,
)
from coevo.benchmarks.reproductions.table_run import PLAIN, learnt, sized, started
from coevo.envs.core.episode import Episode
from coevo.trainers.algorithms import algorithm
from coevo.trainers.loop import updates
from coevo.trainers.run import output_policy

GOOD, WEAK = 1.5, 0.5
"""Margins of the judges."""
STEPS, SIZE, LR = 300, 48, 32.0
SETTINGS: dict[str, Any] = {name: value for name, value in PLAIN.items() if name != "rewards"}


@dataclass(frozen=True)
class Course:
    """What a run was like."""

    accuracy: float
    """Probability of the right answer at the end, over agents and questions."""
    reward: Sequence[float]
    """Mean reward of solutions and evaluations, update by update."""
    invalid: Sequence[float]
    """Share of scores that cannot be read."""
    unshared: float
    """Most by which r(solution) + r(evaluation), summed over an episode, is off its number of
    readable scores: 0 in theory."""


def run(seeds: Sequence[int]) -> Outcome:
    """Train with a good and a weak judge, whitened in two ways, and without scores."""
    good, weak, role = (
        [course(variant, margin, seed) for seed in seeds]
        for variant, margin in ((None, GOOD), (None, WEAK), ("role", WEAK))
    )
    votes = [course("no_scoring", GOOD, seed) for seed in seeds]
    pooled, apart = (tuple(c.accuracy for c in found) for found in (weak, role))
    return Outcome(
        (
            Row("good judge: accuracy", tuple(c.accuracy for c in good), 0.992, low=0.97),
            Row(
                "good judge: invalid scores at the start", tuple(c.invalid[0] for c in good), 0.009
            ),
            Row("good judge: invalid scores", _last([c.invalid for c in good]), 0.002, high=0.005),
            Row(
                "|r(s) + r(e) - valid|, any episode",
                (max(c.unshared for c in (*good, *weak, *role)),),
                0.0,
                high=1e-9,
            ),
            Row("no scoring: reward at the start", tuple(c.reward[0] for c in votes), 0.826),
            Row("no scoring: reward", _last([c.reward for c in votes]), 0.998, low=0.98),
            Row(
                "no scoring: accuracy (chance 0.2)",
                tuple(c.accuracy for c in votes),
                0.171,
                high=0.35,
            ),
            Row("weak judge: accuracy, whitened per agent", pooled, 0.739),
            Row("weak judge: accuracy, whitened per agent and role", apart, 0.9, low=0.85),
            Row("weak judge: what whitening per role adds", gaps(apart, pooled), 0.161, low=0.08),
        ),
        note="solvers start at accuracy 0.2; with a weak judge runs are unequal",
    )


def course(variant: str | None, margin: float, seed: int) -> Course:
    """Let two agents discuss and learn.

    Args:
        variant: of the record.
        margin: of the scorers.
        seed: of the run.
    """
    record = algorithm("comas", variant, {**SETTINGS, "collect.episodes": SIZE, "optim.lr": LR})
    phases = "solve+evaluate" if variant == "no_scoring" else "solve+evaluate+score"
    maker = sized(ROWS, ANSWERS, starts(margin))
    options = {"phases": phases, "rounds": 1}
    with started(record, ID, options, maker, seed=seed, steps=STEPS) as run:
        played = [done.episodes for done in updates(run)]
        tables = [learnt(output_policy(learner)) for learner in run.learners.values()]
    every = [episode for update in played for episode in update]
    return Course(
        accuracy=fmean(_right(found) for found in tables),
        reward=[fmean(map(_shared, update)) for update in played],
        invalid=[fmean(map(_invalid, update)) for update in played],
        unshared=max(abs(2 * _shared(e) - (1 - _invalid(e))) for e in every),
    )


def _right(found: Mapping[str, Tensor]) -> float:
    """Return the probability of right answers; a question that was never asked is a guess."""
    asked = [Drill().item(i) for i in range(QUESTIONS)]
    odds = [found.get(f"Solve: {q.question} [answer]") for q in asked]
    return fmean(
        1 / ANSWERS if p is None else float(p[int(q.answer)])
        for p, q in zip(odds, asked, strict=True)
    )


def _shared(episode: Episode) -> float:
    """Return the mean reward of solutions and evaluations."""
    return fmean(
        turn.rewards["interaction"].get(turn.agent, 0.0)
        for turn in episode.turns
        if turn.role != "scorer"
    )


def _invalid(episode: Episode) -> float:
    """Return the share of scores that cannot be read; 0 where nobody scores."""
    read = [turn.answer is None for turn in episode.turns if turn.role == "scorer"]
    return fmean(read) if read else 0.0


def _last(courses: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Average the last tenth of the updates."""
    return tuple(fmean(found[-max(len(found) // 10, 1) :]) for found in courses)


REPRODUCTION = Reproduction(
    name="comas_tabular",
    property="Peers' scores teach solvers nearly everything where the judge is good; without "
    "scores reward reaches its best at chance accuracy; with a weak judge whitening per role "
    "keeps more than whitening over all roles.",
    source="Xue et al. 2025, CoMAS, arXiv 2510.08529 (rewards (t - 1) / 2 and (3 - t) / 2 of a "
    "score t; ablations without evaluation and without scoring); figures: our numpy experiment, "
    "studies/peer_review_numpy.py",
    minutes=5.2,
    run=run,
    on="table",
)
