"""Advantage Alignment in the iterated prisoner's dilemma: cooperation that cannot be exploited.

Setting   `coevo/iterated_game-v0`, payoffs 3, 0, 5, 1, ten rounds; one table in both seats that
          sees of a prompt the last round alone: five contexts, two arms, uniform at the start. The
          record `advantage_alignment` and its two controls by the shipped loop: rewards / 5, gamma
          0.9, beta 0.5, groups of 8, entropy bonus 0.01, half of the groups against one of 30 past
          selves, kept every 10 updates. 16 episodes per update, Adam 0.2, 150 updates.
Measured  Exact: payoff per round against itself and against always-defect, and the probabilities
          of cooperating.
Chosen    A table for the paper's 7B model, and the bounds. The references are from 256 episodes per
          update, Adam 0.05, 600 updates, where groups of 2, 8, 32 and 256 end alike. There
          P(C | DC) ends near 0; with the few episodes of here it ends near 1, in an earlier
          version of this file with a loop of its own as well, and aligned play pays 2.99 for 2.78.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.repeated_table import RoundGame, expected_returns, learn
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row
from coevo.benchmarks.reproductions.table_run import ADAM
from coevo.benchmarks.reproductions.tabular import REAL
from coevo.envs.dilemmas.catalogue import matrix_game
from coevo.trainers.algorithms import algorithm

ROUNDS, STEPS = 10, 150
SETTINGS = {**ADAM, "collect.episodes": 16, "optim.lr": 0.2}
CONTEXTS = ("start", "CC", "CD", "DC", "DD")
"""What a seat knows: the own last move, then the other's."""
LAST = re.compile(r"Last: (?:(none)|you (\w), other (\w))")
SEEN = ("none", *(f"{own} {other}" for own in "AB" for other in "AB"))
"""The same as prompts have it."""
PAYOFF_AA = torch.tensor(matrix_game("prisoners_dilemma").payoffs[..., 0].tolist(), dtype=REAL)
"""Own payoff by own and other's move; 0 cooperates."""
ALWAYS_DEFECT = torch.tensor([[0.0, 1.0]], dtype=REAL).expand(len(CONTEXTS), 2)


def run(seeds: Sequence[int]) -> Outcome:
    """Train with no alignment, with the sum of rewards and with alignment."""
    naive, total, aligned = (_learnt(v, seeds) for v in ("naive", "sum_of_rewards", None))
    return Outcome(
        (
            Row("naive: payoff", _payoffs(naive), 1.003, high=1.1),
            Row("sum of rewards: payoff", _payoffs(total), 2.999, low=2.9),
            Row("sum of rewards: P(C | CD)", cooperation(total, "CD"), 0.978, low=0.5),
            Row("sum of rewards: against always-defect", _robust(total), 0.022, high=0.4),
            Row("alignment: payoff", _payoffs(aligned), 2.781, low=2.5),
            Row("alignment: P(C) at the start", cooperation(aligned, "start"), 1.0, low=0.9),
            Row("alignment: P(C | CC)", cooperation(aligned, "CC"), 0.985, low=0.9),
            Row("alignment: P(C | CD)", cooperation(aligned, "CD"), 0.005, high=0.1),
            Row("alignment: P(C | DC)", cooperation(aligned, "DC"), 0.013),
            Row("alignment: P(C | DD)", cooperation(aligned, "DD"), 0.001),
            Row("alignment: against always-defect", _robust(aligned), 0.899, low=0.85),
        ),
        note="payoffs are per round, exact for the policies at the end; grim-like play earns "
        "(0 + 9 x 1) / 10 against always-defect",
    )


def dilemma(rounds: int = ROUNDS) -> RoundGame:
    """Return the iterated prisoner's dilemma as a table."""
    return RoundGame(
        env="coevo/iterated_game-v0",
        options={"rounds": rounds},
        shown=LAST,
        seen=SEEN,
        memories=len(CONTEXTS),
        arms=2,
        rounds=rounds,
        roles=1,
        pay=lambda role, arm: PAYOFF_AA[arm, arm.flip(-1)],
        remember=lambda role, arm: 1 + 2 * arm + arm.flip(-1),
    )


def cooperation(policies: Sequence[Tensor], context: str) -> tuple[float, ...]:
    """Return the probability of cooperating of every policy."""
    return tuple(float(p[CONTEXTS.index(context), 0]) for p in policies)


def _learnt(variant: str | None, seeds: Sequence[int]) -> list[Tensor]:
    record = algorithm("advantage_alignment", variant, SETTINGS)
    return [learn(dilemma(), record, STEPS, seed) for seed in seeds]


def _payoffs(policies: Sequence[Tensor]) -> tuple[float, ...]:
    return tuple(expected_returns(dilemma(), p, p)[0] / ROUNDS for p in policies)


def _robust(policies: Sequence[Tensor]) -> tuple[float, ...]:
    return tuple(expected_returns(dilemma(), p, ALWAYS_DEFECT)[0] / ROUNDS for p in policies)


REPRODUCTION = Reproduction(
    name="aa_ipd",
    property="In the iterated prisoner's dilemma naive learners defect, learners of the summed "
    "reward cooperate and let themselves be exploited, and advantage alignment cooperates without.",
    source="Piche et al. 2025, arXiv 2511.19405 (advantage alignment with a group baseline, "
    "settings of github.com/dereckpiche/AdAlignLLM), after Duque et al. 2024, arXiv 2406.14662; "
    "figures: our numpy experiment, studies/alignment_numpy.py",
    minutes=2.0,
    run=run,
    on="table",
)
