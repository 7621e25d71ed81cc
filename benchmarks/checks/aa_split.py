"""Advantage Alignment in a split game with random roles: reciprocity, and why groups share a deal.

Setting   Each of ten rounds one seat values a coin at 10, the other at 1, drawn anew and public.
          Both claim 0, 5 or 10 of 10 coins; claims beyond 10 are cut in proportion. A policy sees
          its own role and the other's last role and claim: 14 contexts, three arms, uniform at the
          start. The record `advantage_alignment:split` with gamma 0.96, rewards / 50 and no KL, as
          in the sheet; groups of 8 plays with the same roles, half of them against past selves;
          256 plays per update, Adam 0.05, 400 updates. The ablation has one baseline for all
          plays, whatever their roles.
Measured  Exact: joint payoff of a round of self-play, 55 if both claim all and 100 if all goes to
          whom it is worth more; the own payoff against one who always claims all; and what the low
          role does after the other claimed nothing, or everything, in it.
Open      The sheet gives no step size. It has twice the plays and the updates, which end in the
          same places: 85.8 with alignment, 26.5 without groups. It found 69 for naive learners;
          most of ours go on to 55, where both claim all, which is the equilibrium of a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from coevo.benchmarks.checks.check import Check, Outcome, Row
from coevo.benchmarks.checks.repeated_table import Course, RoundGame, expected_returns, learn
from coevo.benchmarks.checks.tabular import REAL
from coevo.trainers.algorithms import algorithm

ROUNDS, PLAYS, STEPS, LR = 10, 256, 400, 0.05
CLAIM_A = torch.tensor([0.0, 5.0, 10.0], dtype=REAL)
WORTH_R = torch.tensor([1.0, 10.0], dtype=REAL)
"""Worth of a coin to the low and to the high role."""
COINS = 10.0
MEMORIES = 1 + len(WORTH_R) * len(CLAIM_A)
"""The start, and the other's last role and claim."""
NOTHING, ALL = 0, 2
GREEDY = torch.tensor([[0.0, 0.0, 1.0]], dtype=REAL).expand(len(WORTH_R) * MEMORIES, 3)
SHEET: dict[str, Any] = {
    "advantage.reward_weights.payoff": 0.02,
    "advantage.credit.gamma": 0.96,
    "loss.regularise": "none",
}
"""What the sheet's check has otherwise than the published settings of the game."""
ALIGN: dict[str, Any] = {"advantage.modify.align.gamma": 0.96}
WAYS: dict[str, dict[str, Any]] = {
    "naive": {"advantage.modify": "none", "advantage.others": False},
    "sum of rewards": {"advantage.modify": "sum_others"},
    "alignment": ALIGN,
    "alignment, one baseline": {**ALIGN, "advantage.center.by": "agent+turn"},
}


def run(seeds: Sequence[int]) -> Outcome:
    """Train with the controls, with alignment, and with alignment without same-deal groups."""
    found = {way: [_learnt(way, seed) for seed in seeds] for way in WAYS}
    joint = {way: tuple(map(_joint, policies)) for way, policies in found.items()}
    aligned, pooled = found["alignment"], found["alignment, one baseline"]
    gap = [a - b for a, b in zip(joint["alignment"], joint["alignment, one baseline"], strict=True)]
    return Outcome(
        (
            Row("naive: joint payoff", joint["naive"], 69.0, high=70.0),
            Row("sum of rewards: joint payoff", joint["sum of rewards"], 99.9, low=95.0),
            Row(
                "sum of rewards: P(give | claimed all)",
                _gives(found["sum of rewards"], ALL),
                low=0.5,
            ),
            Row("alignment: joint payoff", joint["alignment"], 84.5, low=80.0),
            Row("alignment: P(give | gave)", _gives(aligned, NOTHING), 1.0, low=0.9),
            Row("alignment: P(give | claimed all)", _gives(aligned, ALL), 0.0, high=0.1),
            Row("alignment: against a greedy one", tuple(map(_robust, aligned)), low=26.0),
            Row(
                "sum of rewards: against a greedy one", tuple(map(_robust, found["sum of rewards"]))
            ),
            Row(
                "alignment, one baseline: joint payoff",
                joint["alignment, one baseline"],
                21.0,
                high=50.0,
            ),
            Row("alignment, one baseline: P(give | gave)", _gives(pooled, NOTHING)),
            Row("alignment, one baseline: P(give | claimed all)", _gives(pooled, ALL)),
            Row("joint payoff that groups of one deal are worth", tuple(gap), 62.0, low=30.0),
        ),
        note="give: claim nothing in the low role, after the other did so, or claimed all, in it",
    )


def split(rounds: int = ROUNDS) -> RoundGame:
    """Give the split game as a table."""
    return RoundGame(
        memories=MEMORIES, arms=len(CLAIM_A), rounds=rounds, roles=2, pay=_pay, remember=_remember
    )


def _pay(role: Tensor, arm: Tensor) -> Tensor:
    """Share the coins out in proportion to the claims: n p_i / max(n, p_0 + p_1), times worth."""
    claim = CLAIM_A[arm]
    return COINS * claim / claim.sum(-1, keepdim=True).clamp(min=COINS) * WORTH_R[role]


def _remember(role: Tensor, arm: Tensor) -> Tensor:
    return 1 + len(CLAIM_A) * role.flip(-1) + arm.flip(-1)


def _learnt(way: str, seed: int) -> Tensor:
    record = algorithm("advantage_alignment", "split", SHEET | WAYS[way])
    return learn(split(), record, Course(plays=PLAYS, steps=STEPS, lr=LR), seed)


def _joint(policy: Tensor) -> float:
    return sum(expected_returns(split(), policy, policy)) / ROUNDS


def _robust(policy: Tensor) -> float:
    return expected_returns(split(), policy, GREEDY)[0] / ROUNDS


def _gives(policies: Sequence[Tensor], claimed: int) -> tuple[float, ...]:
    """Give the probability of claiming nothing in the low role, by the other's claim in it."""
    return tuple(float(p[1 + claimed, NOTHING]) for p in policies)


CHECK = Check(
    name="aa_split",
    property="In a split game with random roles advantage alignment learns to give to those who "
    "gave and to nobody else, if plays are compared with plays of the same deal.",
    source="social dilemmas sheet, section 1.7: joint payoff 69 naive, 99.9 sum of rewards, 83 to "
    "86 alignment, about 21 without same-seed groups",
    minutes=2.1,
    run=run,
)
