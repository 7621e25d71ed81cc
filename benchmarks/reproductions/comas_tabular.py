"""CoMAS on tables: what makes it work, what its scoring is for, and which judges it survives.

Setting    Two agents with tables for every role, 20 questions with 5 answers, one round of review
           per question, 48 questions per step (`review_table`). Solvers guess at first; scorers
           call a right solution right more often than a wrong one by a margin in their logits.
Measured   The record `comas` as it trains language models (whitening per agent over all roles),
           its variant `role`, and its control `no_scoring`, which pays by votes.
Chosen     The tables, where they start (`review_table`) and the bounds; the paper reports 3B
           models, among them both ablations. Each seed stands for two groups of agents.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.benchmarks.reproductions.review_table import Course, Setting, learn
from coevo.trainers.algorithms import algorithm

GOOD, WEAK = 1.5, 0.5
"""Margins of the judges."""
STEPS, SIZE, LR, WORLDS = 300, 48, 32.0, 2


def run(seeds: Sequence[int]) -> Outcome:
    """Train with a good and a weak judge, whitened in two ways, and without scores."""
    buffer, role = (_course(v, [GOOD, WEAK], seeds) for v in (None, "role"))
    votes = _course("no_scoring", [GOOD], seeds)
    half = WORLDS * len(seeds)
    pooled, apart = _last(buffer.accuracy_TW[:, half:]), _last(role.accuracy_TW[:, half:])
    return Outcome(
        (
            Row("accuracy of the solvers at the start", _first(buffer.accuracy_TW), 0.2),
            Row("good judge: accuracy", _last(buffer.accuracy_TW[:, :half]), 0.992, low=0.97),
            Row("good judge: invalid scores at the start", _first(buffer.invalid_TW), 0.009),
            Row(
                "good judge: invalid scores", _last(buffer.invalid_TW[:, :half]), 0.002, high=0.005
            ),
            Row("|r(s) + r(e) - valid|, any step", _worst(buffer.unshared_TW), 0.0, high=1e-9),
            Row("no scoring: reward at the start", _first(votes.reward_TW), 0.826),
            Row("no scoring: reward", _last(votes.reward_TW), 0.998, low=0.98),
            Row("no scoring: accuracy (chance 0.2)", _last(votes.accuracy_TW), 0.171, high=0.35),
            Row("weak judge: accuracy, whitened per agent", pooled, 0.739),
            Row("weak judge: accuracy, whitened per agent and role", apart, 0.9, low=0.85),
            Row("weak judge: what whitening per role adds", gaps(apart, pooled), 0.161, low=0.08),
        ),
        note="with a weak judge runs are unequal; every one whitened per role is above its twin",
    )


def _course(variant: str | None, margins: Sequence[float], seeds: Sequence[int]) -> Course:
    """Run `WORLDS` groups of agents per margin and seed; equal seeds draw equal numbers."""
    config = algorithm("comas", variant)
    setting = Setting(config.advantage, config.loss, LR, STEPS, SIZE, votes=variant == "no_scoring")
    groups = [seed * WORLDS + k for seed in seeds for k in range(WORLDS)]
    every = [margin for margin in margins for _ in groups]
    return learn(every, groups * len(margins), setting)


def _first(value_TW: Tensor) -> tuple[float, ...]:
    return (float(value_TW[0].mean()),)


def _last(value_TW: Tensor) -> tuple[float, ...]:
    """Average the last tenth of the steps, and the groups of a seed."""
    tail_W = value_TW[-max(len(value_TW) // 10, 1) :].mean(0)
    return tuple(tail_W.reshape(-1, WORLDS).mean(1).tolist())


def _worst(value_TW: Tensor) -> tuple[float, ...]:
    return (float(value_TW.abs().max()),)


REPRODUCTION = Reproduction(
    name="comas_tabular",
    property="Peers' scores teach solvers nearly everything where the judge is good; without "
    "scores reward reaches its best at chance accuracy; with a weak judge whitening per role "
    "keeps more than whitening over all roles.",
    source="Xue et al. 2025, CoMAS, arXiv 2510.08529 (rewards (t - 1) / 2 and (3 - t) / 2 of a "
    "score t; ablations without evaluation and without scoring); figures: our numpy experiment, "
    "benchmarks/studies/peer_review_numpy.py",
    minutes=4.0,
    run=run,
    on="alone",
)
