"""Advantage Alignment in the iterated prisoner's dilemma: cooperation that cannot be exploited.

Setting   Payoffs 3, 0, 5, 1; ten rounds; one policy in both seats that sees the last round, own
          move first: five contexts, two arms, uniform at the start. The record
          `advantage_alignment` and its two controls as they are registered: rewards / 5, gamma
          0.9, beta 0.5, groups of 8, entropy bonus 0.01, half of the groups against one of 30 past
          selves, kept every 10 updates. 256 plays per update, Adam 0.05, 600 updates.
Measured  Exact: payoff per round against itself and against always-defect, and the probabilities
          of cooperating.
Open      The sheet does not say how its 256 plays were grouped; one group, 2, 8 and 32 end alike.
          It gives 2.6 to 2.8 for beta from 0.5 to 2, best at 0.5, which is the record's.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from coevo.benchmarks.checks.check import Check, Outcome, Row
from coevo.benchmarks.checks.repeated_table import Course, RoundGame, expected_returns, learn
from coevo.benchmarks.checks.tabular import REAL
from coevo.envs.dilemmas.matrices import matrix_game
from coevo.trainers.algorithms import algorithm

ROUNDS, PLAYS, STEPS, LR = 10, 256, 600, 0.05
CONTEXTS = ("start", "CC", "CD", "DC", "DD")
"""What a seat knows: the own last move, then the other's."""
PAYOFF_AA = torch.tensor(matrix_game("prisoners_dilemma").payoffs[..., 0].tolist(), dtype=REAL)
"""Own payoff by own and other's move; 0 cooperates."""
ALWAYS_DEFECT = torch.tensor([[0.0, 1.0]], dtype=REAL).expand(len(CONTEXTS), 2)


def run(seeds: Sequence[int]) -> Outcome:
    """Train with no alignment, with the sum of rewards and with alignment."""
    naive, total, aligned = (_learnt(v, seeds) for v in ("naive", "sum_of_rewards", None))
    return Outcome(
        (
            Row("naive: payoff", _payoffs(naive), 1.01, high=1.1),
            Row("sum of rewards: payoff", _payoffs(total), 3.0, low=2.9),
            Row("sum of rewards: P(C | CD)", cooperation(total, "CD"), 0.95, low=0.5),
            Row("sum of rewards: against always-defect", _robust(total), high=0.4),
            Row("alignment: payoff", _payoffs(aligned), 2.8, low=2.5),
            Row("alignment: P(C) at the start", cooperation(aligned, "start"), 1.0, low=0.9),
            Row("alignment: P(C | CC)", cooperation(aligned, "CC"), 0.98, low=0.9),
            Row("alignment: P(C | CD)", cooperation(aligned, "CD"), 0.01, high=0.1),
            Row("alignment: P(C | DC)", cooperation(aligned, "DC"), 0.04),
            Row("alignment: P(C | DD)", cooperation(aligned, "DD"), 0.0),
            Row("alignment: against always-defect", _robust(aligned), 0.9, low=0.85),
        ),
        note="payoffs are per round, exact for the policies at the end; grim-like play earns "
        "(0 + 9 x 1) / 10 against always-defect",
    )


def dilemma(rounds: int = ROUNDS) -> RoundGame:
    """Give the iterated prisoner's dilemma as a table."""
    return RoundGame(
        memories=len(CONTEXTS),
        arms=2,
        rounds=rounds,
        roles=1,
        pay=lambda role, arm: PAYOFF_AA[arm, arm.flip(-1)],
        remember=lambda role, arm: 1 + 2 * arm + arm.flip(-1),
    )


def cooperation(policies: Sequence[Tensor], context: str) -> tuple[float, ...]:
    """Give the probability of cooperating of every policy."""
    return tuple(float(p[CONTEXTS.index(context), 0]) for p in policies)


def _learnt(variant: str | None, seeds: Sequence[int]) -> list[Tensor]:
    record = algorithm("advantage_alignment", variant)
    course = Course(plays=PLAYS, steps=STEPS, lr=LR)
    return [learn(dilemma(), record, course, seed) for seed in seeds]


def _payoffs(policies: Sequence[Tensor]) -> tuple[float, ...]:
    return tuple(expected_returns(dilemma(), p, p)[0] / ROUNDS for p in policies)


def _robust(policies: Sequence[Tensor]) -> tuple[float, ...]:
    return tuple(expected_returns(dilemma(), p, ALWAYS_DEFECT)[0] / ROUNDS for p in policies)


CHECK = Check(
    name="aa_ipd",
    property="In the iterated prisoner's dilemma naive learners defect, learners of the summed "
    "reward cooperate and let themselves be exploited, and advantage alignment cooperates without.",
    source="social dilemmas sheet, section 1.7: 1.01; 3.00 with P(C | CD) .95; 2.6 to 2.8 with "
    "P(C | CD) .01",
    minutes=2.2,
    run=run,
)
