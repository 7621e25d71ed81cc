"""Learning from a fixed other policy: which member of the REC family ends where.

Setting   Three arms with rewards r = (0, 0.8, 1), played by a fixed policy b = (0.3, 0.6, 0.1);
          A = r - 0.58, its group mean. Gradient steps on the exact expected loss from b: the batch
          holds ten rows, each arm as often as b plays it.
Measured  Where the policy ends. Arm 3 is the best; b plays it rarely.
Steps     The numpy experiment takes 20 000 of size 0.05. Losses that follow a smooth path take 2000
          of size 0.5 here, which is as far; the gated one, which a large step carries across its
          bound, 0.05.
Chosen    Rewards, behaviour, steps; the paper derives the losses and gives no such figure.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, near
from coevo.benchmarks.reproductions.tabular import REAL, SoftmaxTable, episodes, moves
from coevo.trainers.estimators import (
    AdvantageConfig,
    ExpWeight,
    LossConfig,
    NoNormalisation,
    Opmd,
    PolicyGradient,
    Rec,
    Shift,
    Unclipped,
    advantages,
    count,
)

BEHAVIOUR = (0.3, 0.6, 0.1)
REWARD = torch.tensor([0.0, 0.8, 1.0], dtype=REAL)
ROWS = torch.tensor([0] * 3 + [1] * 6 + [2])
FAR = 1000.0
"""Number of steps times their size."""
CENTRED = AdvantageConfig(normalise=NoNormalisation())
TILTED = AdvantageConfig(normalise=NoNormalisation(), transform=(ExpWeight(temperature=0.1),))
SHIFTED = AdvantageConfig(normalise=NoNormalisation(), transform=(Shift(beta=0.1),))


def run(seeds: Sequence[int]) -> Outcome:
    """Follow the losses to their end; nothing is drawn."""
    plain = _learn(LossConfig(surrogate=PolicyGradient()))
    weighted = _learn(LossConfig(surrogate=Unclipped()))
    red = _learn(LossConfig(surrogate=Rec(side="none", weight="exp", temperature=0.1)))
    tilted = _learn(LossConfig(surrogate=PolicyGradient()), TILTED)
    gated = _learn(LossConfig(surrogate=Rec(side="one")), lr=0.05)
    # the square is weighted by tau / 2
    mirror = _learn(LossConfig(surrogate=Opmd(tau=1.0, form="half")))
    shifted = _learn(LossConfig(surrogate=PolicyGradient()), SHIFTED)
    return Outcome(
        (
            near("REINFORCE, P(arm 2)", [plain[1]], 1.0, 0.005),
            near("importance weights, P(arm 3)", [weighted[2]], 0.998, 0.002),
            near("RED-Weight T=0.1, P(arm 3)", [red[2]], 0.70, 0.01),
            near("RED-Weight T=0.1 as a modifier, P(arm 3)", [tilted[2]], 0.70, 0.01),
            *_three("REC-OneSide", gated, (0.16, 0.72, 0.12), 0.005),
            *_three("OPMD tau=1", mirror, (0.163, 0.697, 0.140), 0.001),
            *_theory(mirror),
            near("AsymRE beta=0.1, P(arm 2)", [shifted[1]], 1.0, 0.005),
        ),
        note="OPMD's theory, b exp(r / tau), is the optimum of a KL penalty; the squared penalty "
        "under b ends a little beside it",
    )


def _learn(loss: LossConfig, spec: AdvantageConfig = CENTRED, *, lr: float = 0.5) -> list[float]:
    """Return the policy after all steps on the same ten rows."""
    policy = SoftmaxTable(torch.tensor([BEHAVIOUR], dtype=REAL).log())
    played = moves(torch.zeros_like(ROWS), ROWS)
    advantage_CL = advantages(spec, episodes(REWARD[ROWS])).advantage_BS
    # the ratio is to the behaviour policy, where learning starts: one update of many epochs
    steps, denom = round(FAR / lr), count(played.mask_CL, 1)
    policy.update(loss, played, advantage_CL, denom, lr=lr, epochs=steps)
    found: list[float] = policy.probabilities_CA()[0].tolist()
    return found


def _three(
    name: str, found: Sequence[float], reference: Sequence[float], within: float
) -> list[Row]:
    arms = zip(found, reference, strict=True)
    return [near(f"{name}, P(arm {k})", [p], r, within) for k, (p, r) in enumerate(arms, 1)]


def _theory(found: Sequence[float]) -> list[Row]:
    """Show OPMD beside b exp(r / tau), which it is not held to."""
    weight_A = torch.tensor(BEHAVIOUR, dtype=REAL) * REWARD.exp()
    optimum: list[float] = (weight_A / weight_A.sum()).tolist()
    return [
        Row(f"OPMD tau=1 beside its theory, P(arm {k})", (p,), r)
        for k, (p, r) in enumerate(zip(found, optimum, strict=True), 1)
    ]


REPRODUCTION = Reproduction(
    name="offline_bandit",
    property="On the episodes of a fixed other policy REINFORCE ends on the wrong arm, importance "
    "weights and exponential weights move to the best one, and the one-side gate stays near the "
    "behaviour.",
    source="Yao et al. 2025, Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm, arXiv "
    "2509.24203 (REC, RED-Weight, OPMD, AsymRE); figures: our numpy experiment, "
    "studies/rec_numpy.py",
    minutes=0.2,
    run=run,
    on="formula",
)
