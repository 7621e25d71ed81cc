"""Optima: a team learns to be right and terse from its own best plays.

Setting   Two seats on one table (`codes`): a message may be a sentence, a code or noise, worth
          R = right - 0.6 tokens / 12 + 1 / loss: 1.07, 1.30 and 0.20 if it is right (noise never
          is). The record `optima` and its variants by the shipped loop: 20 tasks an update, each
          played 10 times, Adam 0.2, 50 updates; the figures are those of the last 10.
Measured  Accuracy, tokens of a message, and which form it takes, for iSFT, iDPO and both in turns;
          without the term of the tokens (1.67 for a sentence, 1.40 for a code); without that of the
          loss (0.40, 0.90); and for imitation of what is right alone, the naive control.
Chosen    Digits below 5, sizes. theta is 0.6; it is 1 where R is larger, and 0 for accuracy alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from coevo.benchmarks.reproductions.codes import ID, MessageTerm
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row
from coevo.benchmarks.reproductions.table_run import started
from coevo.trainers.algorithms import algorithm
from coevo.trainers.loop import updates

STEPS, LAST = 50, 10
SETTINGS = {"collect.episodes": 200, "optim.lr": 0.2, "optim.epochs": 1, "optim.warmup": 0}
TERMS = {"brevity": 0.6, "readability": 1.0}
THETA = "cycle.make_items.to.above"


@dataclass(frozen=True)
class Team:
    """What a team was like at the end."""

    right: float
    tokens: float
    sentence: float
    code: float


def run(seeds: Sequence[int]) -> Outcome:
    """Train by imitation, by preference and by both; without terms of the reward; naively."""
    imitates, prefers, hybrid = (
        [team(v, TERMS, {}, s) for s in seeds] for v in (None, "dpo", "hybrid")
    )
    wordy = [team(None, {**TERMS, "brevity": 0.0}, {THETA: 1.0}, s) for s in seeds]
    strange = [team(None, {**TERMS, "readability": 0.0}, {}, s) for s in seeds]
    naive = [team(None, dict.fromkeys(TERMS, 0.0), {THETA: 0.0}, s) for s in seeds]
    saved = tuple(1 - one.tokens / other.tokens for one, other in zip(imitates, naive, strict=True))
    return Outcome(
        (
            Row("right alone: accuracy", tuple(t.right for t in naive)),
            Row("right alone: tokens", tuple(t.tokens for t in naive)),
            Row("iSFT: accuracy", tuple(t.right for t in imitates), low=0.9),
            Row("iSFT: codes", tuple(t.code for t in imitates), 1.0, low=0.9),
            Row("iSFT: tokens saved against right alone", saved, low=0.5),
            Row("iDPO: accuracy", tuple(t.right for t in prefers), low=0.9),
            Row("iDPO: codes", tuple(t.code for t in prefers), 1.0, low=0.9),
            Row("hybrid: accuracy", tuple(t.right for t in hybrid), low=0.9),
            Row("hybrid: codes", tuple(t.code for t in hybrid), 1.0, low=0.9),
            Row(
                "iSFT without the token term: sentences", tuple(t.sentence for t in wordy), 1.0, 0.9
            ),
            Row("iSFT without the loss term: codes", tuple(t.code for t in strange), 1.0, 0.9),
        ),
    )


def team(
    variant: str | None, weights: Mapping[str, float], changes: Mapping[str, Any], seed: int
) -> Team:
    """Train a team, and return what it was like in the last updates.

    Args:
        variant: of the record `optima`.
        weights: of the terms of the reward beside the payoff.
        changes: dotted setting -> value.
        seed: of the run.
    """
    made = algorithm("optima", variant, {**SETTINGS, **changes})
    terms = tuple(MessageTerm(of=name) for name in ("brevity", "readability"))
    weighted = replace(made.advantage, reward_weights=dict(weights))
    made = replace(made, rewards=terms, advantage=weighted)
    with started(made, ID, seed=seed, steps=STEPS) as run:
        seen = [done.metrics for done in updates(run)][-LAST:]
    names = ("right", "tokens", "form/sentence", "form/code")
    return Team(*(fmean(metrics[f"outcome/{name}"] for metrics in seen) for name in names))


REPRODUCTION = Reproduction(
    name="optima_codes",
    property="Learning from its own best plays, a team becomes right and terse; which form it "
    "settles on follows the terms of the reward.",
    source="Chen et al. 2024, Optima, arXiv 2410.08115 (the three terms of the reward and their "
    "ablation); the references are which form R is highest for",
    minutes=12.0,
    run=run,
    on="table",
)
