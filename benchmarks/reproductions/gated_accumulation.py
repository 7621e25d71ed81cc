"""Gated accumulation (G-RA): step rewards that do not lead to the goal are not collected.

Setting   Five turns. A turn either stalls, for 0.5, or submits, which ends the episode and pays 1
          with probability 0.3, else 0.2. Five stalls earn 2.5, four stalls and a submission 2.44:
          on the plain sum it pays never to submit. The gate counts stalls only where the
          submission pays 0.2 or more, that is where there is one.
Learning  A logit pair per turn, 32 episodes per update, group mean as baseline, plain gradient.
Measured  Completion: the probability of a submission within five turns.
Chosen    The whole task; the paper reports software agents, 47.6 to 93.8 % completion. The ungated
          figure falls with every update; 600 of lr 0.5 end below a tenth.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row
from coevo.benchmarks.reproductions.tabular import (
    REAL,
    Moves,
    SoftmaxTable,
    episodes,
    generators,
    uniform,
)
from coevo.trainers.estimators import (
    AdvantageConfig,
    Denominators,
    Gated,
    LossConfig,
    NoNormalisation,
    PolicyGradient,
    SeqMeanTokenSum,
    advantages,
)

TURNS, SIZE, UPDATES, LR = 5, 32, 600, 0.5
STALL, SUBMIT = 0, 1
DENSE, HIGH, LOW, ODDS = 0.5, 1.0, 0.2, 0.3
PARTS = ("payoff", "progress")
SUM = AdvantageConfig(normalise=NoNormalisation())
GATED = AdvantageConfig(normalise=NoNormalisation(), compose=Gated(high=("payoff",), delta=LOW))
LOSS = LossConfig(surrogate=PolicyGradient(), aggregate=SeqMeanTokenSum())


def run(seeds: Sequence[int]) -> Outcome:
    """Learn with and without the gate."""
    ungated, gated = _learn(SUM, seeds), _learn(GATED, seeds)
    return Outcome(
        (
            Row("completion, rewards summed", ungated, 0.039, high=0.1),
            Row("completion, gated", gated, 0.999, low=0.99),
        )
    )


def _learn(spec: AdvantageConfig, seeds: Sequence[int]) -> tuple[float, ...]:
    """Return the probability of completion after learning; seeds learn side by side."""
    sources = generators(seeds)
    policy = SoftmaxTable(torch.zeros(len(seeds) * TURNS, 2))
    for _ in range(UPDATES):
        played, reward_BTK = _play(policy, uniform(sources, SIZE, TURNS + 1))
        seed_B = torch.arange(len(seeds)).repeat_interleave(SIZE)
        batch = episodes(reward_BTK, PARTS, mask_BT=played.mask_CL, group=seed_B)
        advantage_CL = _padded(advantages(spec, batch).advantage_BS)
        # the denominator of one seed: each takes the step that it would take alone
        policy.update(LOSS, played, advantage_CL, Denominators(SIZE, SIZE, TURNS), lr=LR)
    stall_ST = policy.probabilities_CA()[:, STALL].reshape(len(seeds), TURNS)
    return tuple((1 - stall_ST.prod(1)).tolist())


def _play(policy: SoftmaxTable, uniform_SGT: Tensor) -> tuple[Moves, Tensor]:
    """Play all turns at once and cut every episode after its first submission."""
    seeds, size, _ = uniform_SGT.shape
    context_ST = torch.arange(seeds * TURNS).reshape(seeds, TURNS)
    uniform_CG = uniform_SGT[..., :TURNS].transpose(1, 2).reshape(-1, size)
    arm_SGT = policy.draw(uniform_CG).reshape(seeds, TURNS, size).transpose(1, 2)
    submit_BT = (arm_SGT == SUBMIT).reshape(-1, TURNS)
    mask_BT = submit_BT.long().cumsum(1) - submit_BT.long() == 0
    lucky_B1 = uniform_SGT[..., TURNS].reshape(-1, 1) < ODDS
    payoff_BT = torch.where(submit_BT & mask_BT, torch.where(lucky_B1, HIGH, LOW), 0.0).to(REAL)
    progress_BT = torch.where(~submit_BT & mask_BT, DENSE, 0.0).to(REAL)
    context_BT = context_ST.unsqueeze(1).expand(seeds, size, TURNS).reshape(-1, TURNS)
    played = Moves(context_BT, arm_SGT.reshape(-1, TURNS), mask_BT)
    return played, torch.stack([payoff_BT, progress_BT], dim=-1)


def _padded(advantage_BS: Tensor) -> Tensor:
    """Return the advantages the width of the moves."""
    return torch.nn.functional.pad(advantage_BS, (0, TURNS - advantage_BS.shape[1]))


REPRODUCTION = Reproduction(
    name="gated_accumulation",
    property="A policy that is paid for steps only where the goal is reached completes the task; "
    "one that is paid for them anyway learns to stall.",
    source="Sun et al. 2025, Gated Rewards, arXiv 2508.10548 (gated accumulation: R_high + "
    "1[R_high >= delta] times the sum of the step rewards); figures: our numpy experiment, "
    "benchmarks/studies/gated_rewards_numpy.py",
    minutes=0.1,
    run=run,
    on="alone",
)
