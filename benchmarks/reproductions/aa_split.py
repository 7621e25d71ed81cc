"""Advantage Alignment in a split game with random roles: reciprocity, and why groups share a deal.

Setting   `coevo/trust_and_split-v0` without talk: in each of ten rounds one seat values a coin at
          10, the other at 1, drawn anew and public. Both claim 0, 5 or 10 of 10 coins; claims
          beyond 10 are cut in proportion. A table sees of a prompt the own role and the other's
          last role and claim: 14 contexts, three arms, uniform at the start. The record
          `advantage_alignment:split` with gamma 0.96, rewards / 50 and no KL, one table in both
          seats by the shipped loop; groups of 8 episodes with the same roles, half of them against
          past selves; 32 episodes per update, Adam 0.1, 200 updates. The ablation has one baseline
          for all episodes, whatever their roles.
Measured  Exact: joint payoff of a round of self-play, 55 if both claim all and 100 if all goes to
          whom it is worth more; the own payoff against one who always claims all; and what the low
          role does after the other claimed nothing, or everything, in it.
Chosen    A table and three claims for the paper's 7B model and eleven claims, and the bounds. The
          references are from 256 episodes per update, Adam 0.05, 400 updates. With the few episodes
          of here the ablation ends anywhere from 30 to 61, so that its bounds are wider than they
          were (65 for 50, and a gap of 20 for 30), chosen after looking. A naive learner goes to
          55, where both claim all, which is the equilibrium of a round; a few stop at 69 on the
          way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.repeated_table import RoundGame, expected_returns, learn
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.benchmarks.reproductions.table_run import ADAM
from coevo.benchmarks.reproductions.tabular import REAL
from coevo.trainers.algorithms import algorithm
from coevo.trainers.estimators import SumOthers

ROUNDS, STEPS = 10, 200
CLAIMS, WORTHS = (0, 5, 10), (1, 10)
"""What may be claimed, and the worth of a coin to the low and to the high role."""
CLAIM_A, WORTH_R = (torch.tensor(given, dtype=REAL) for given in (CLAIMS, WORTHS))
COINS = 10.0
MEMORIES = 1 + len(WORTHS) * len(CLAIMS)
"""The start, and the other's last role and claim."""
LAST = re.compile(r"worth (\d+) to you.* Last: (?:(none)|(won|lost) \d+, other (\d+))")
SEEN = tuple(
    f"{own} {last}"
    for own in WORTHS
    for last in ("none", *(f"{mine} {claim}" for mine in ("won", "lost") for claim in CLAIMS))
)
"""What prompts have of it: worth of the own role, the own last role, the other's last claim."""
NOTHING, ALL = 0, 2
GREEDY = torch.tensor([[0.0, 0.0, 1.0]], dtype=REAL).expand(len(WORTH_R) * MEMORIES, 3)
TABLE: dict[str, Any] = {
    **ADAM,
    "collect.episodes": 32,
    "optim.lr": 0.1,
    "advantage.reward_weights.payoff": 0.02,
    "advantage.credit.gamma": 0.96,
    "loss.regularise": (),
}
"""What a table has otherwise than the published settings of the game, which are for a 7B model."""
ALIGN: dict[str, Any] = {"advantage.transform.align.gamma": 0.96}
WAYS: dict[str, dict[str, Any]] = {
    "naive": {"advantage.transform": (), "advantage.others": False},
    "sum of rewards": {"advantage.transform": (SumOthers(),)},
    "alignment": ALIGN,
    "alignment, one baseline": {**ALIGN, "advantage.baseline.by": "agent+turn"},
}


def run(seeds: Sequence[int]) -> Outcome:
    """Train with the controls, with alignment, and with alignment without same-deal groups."""
    found = {way: [_learnt(way, seed) for seed in seeds] for way in WAYS}
    joint = {way: tuple(map(_joint, policies)) for way, policies in found.items()}
    aligned, pooled = found["alignment"], found["alignment, one baseline"]
    gap = gaps(joint["alignment"], joint["alignment, one baseline"])
    return Outcome(
        (
            Row("naive: joint payoff", joint["naive"], 55.2, high=70.0),
            Row("sum of rewards: joint payoff", joint["sum of rewards"], 99.9, low=95.0),
            Row(
                "sum of rewards: P(give | claimed all)",
                _gives(found["sum of rewards"], ALL),
                0.969,
                low=0.5,
            ),
            Row("alignment: joint payoff", joint["alignment"], 85.7, low=80.0),
            Row("alignment: P(give | gave)", _gives(aligned, NOTHING), 0.999, low=0.9),
            Row("alignment: P(give | claimed all)", _gives(aligned, ALL), 0.0, high=0.1),
            Row("alignment: against a greedy one", tuple(map(_robust, aligned)), 26.5, low=26.0),
            Row(
                "sum of rewards: against a greedy one",
                tuple(map(_robust, found["sum of rewards"])),
                24.8,
            ),
            Row(
                "alignment, one baseline: joint payoff",
                joint["alignment, one baseline"],
                30.0,
                high=65.0,
            ),
            Row("alignment, one baseline: P(give | gave)", _gives(pooled, NOTHING), 0.996),
            Row("alignment, one baseline: P(give | claimed all)", _gives(pooled, ALL), 0.966),
            Row("joint payoff that groups of one deal are worth", gap, 55.7, low=20.0),
        ),
        note="give: claim nothing in the low role, after the other did so, or claimed all, in it",
    )


def split(rounds: int = ROUNDS) -> RoundGame:
    """Return the split game as a table."""
    return RoundGame(
        env="coevo/trust_and_split-v0",
        options={"rounds": rounds, "messages": False, "claims": CLAIMS, "public": True},
        shown=LAST,
        seen=SEEN,
        memories=MEMORIES,
        arms=len(CLAIMS),
        rounds=rounds,
        roles=2,
        pay=_pay,
        remember=_remember,
    )


def _pay(role: Tensor, arm: Tensor) -> Tensor:
    """Share the coins out in proportion to the claims: n p_i / max(n, p_0 + p_1), times worth."""
    claim = CLAIM_A[arm]
    return COINS * claim / claim.sum(-1, keepdim=True).clamp(min=COINS) * WORTH_R[role]


def _remember(role: Tensor, arm: Tensor) -> Tensor:
    return 1 + len(CLAIMS) * role.flip(-1) + arm.flip(-1)


def _learnt(way: str, seed: int) -> Tensor:
    record = algorithm("advantage_alignment", "split", TABLE | WAYS[way])
    return learn(split(), record, STEPS, seed)


def _joint(policy: Tensor) -> float:
    return sum(expected_returns(split(), policy, policy)) / ROUNDS


def _robust(policy: Tensor) -> float:
    return expected_returns(split(), policy, GREEDY)[0] / ROUNDS


def _gives(policies: Sequence[Tensor], claimed: int) -> tuple[float, ...]:
    """Return the probability of claiming nothing in the low role, by the other's claim in it."""
    return tuple(float(p[1 + claimed, NOTHING]) for p in policies)


REPRODUCTION = Reproduction(
    name="aa_split",
    property="In a split game with random roles advantage alignment learns to give to those who "
    "gave and to nobody else, if episodes are compared with episodes of the same deal.",
    source="Piche et al. 2025, arXiv 2511.19405 (Trust-and-Split; baselines over episodes of one "
    "seed, settings of github.com/dereckpiche/AdAlignLLM); figures: our numpy experiment, "
    "studies/alignment_numpy.py",
    minutes=6.0,
    run=run,
    on="table",
)
