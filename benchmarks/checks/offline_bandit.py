"""Learning from a fixed other policy: which member of the REC family ends where.

Setting   Three arms with rewards r = (0, 0.8, 1), played by a fixed policy b = (0.3, 0.6, 0.1);
          A = r - 0.58, its group mean. Gradient steps on the exact expected loss from b: the batch
          holds ten rows, each arm as often as b plays it.
Measured  Where the policy ends. Arm 3 is the best; b plays it rarely.
Steps     The sheet takes 20 000 of size 0.05. Losses that follow a smooth path take 2000 of size
          0.5, which is as far; the gated one, which a large step carries across its bound, 0.05.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from coevo.benchmarks.checks.check import Check, Outcome, Row, near
from coevo.benchmarks.checks.tabular import REAL, TabularPolicy, moves, plays
from coevo.trainers.estimators import AdvantageSpec, LossSpec, advantages, count, option

BEHAVIOUR = (0.3, 0.6, 0.1)
REWARD = torch.tensor([0.0, 0.8, 1.0], dtype=REAL)
ROWS = torch.tensor([0] * 3 + [1] * 6 + [2])
FAR = 1000.0
"""Number of steps times their size, as in the sheet."""
CENTRED = AdvantageSpec(scale=option("none"))
TILTED = AdvantageSpec(scale=option("none"), modify=(option("exp_weight", temperature=0.1),))
SHIFTED = AdvantageSpec(scale=option("none"), modify=(option("shift", beta=0.1),))


def run(seeds: Sequence[int]) -> Outcome:
    """Follow the losses to their end; nothing is drawn."""
    plain = _learn(LossSpec(kind=option("pg")))
    weighted = _learn(LossSpec(kind=option("ratio")))
    red = _learn(LossSpec(kind=option("rec", side="none", weight="exp", temperature=0.1)))
    tilted = _learn(LossSpec(kind=option("pg")), TILTED)
    gated = _learn(LossSpec(kind=option("rec", side="one")), lr=0.05)
    # the sheet's tau = 1 is tau / 2 on the square
    mirror = _learn(LossSpec(kind=option("opmd", tau=1.0, form="half")))
    shifted = _learn(LossSpec(kind=option("pg")), SHIFTED)
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
        "under b ends a little beside it, here as in the sheet",
    )


def _learn(loss: LossSpec, spec: AdvantageSpec = CENTRED, *, lr: float = 0.5) -> list[float]:
    """Give the policy after all steps on the same ten rows."""
    policy = TabularPolicy(torch.tensor([BEHAVIOUR], dtype=REAL).log())
    played = moves(torch.zeros_like(ROWS), ROWS)
    advantage_BL = advantages(spec, plays(REWARD[ROWS])).advantage_BS
    # the ratio is to the behaviour policy, where learning starts: one update of many epochs
    steps, denom = round(FAR / lr), count(played.mask_BL, 1)
    policy.update(loss, played, advantage_BL, denom, lr=lr, epochs=steps)
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


CHECK = Check(
    name="offline_bandit",
    property="On the plays of a fixed other policy REINFORCE ends on the wrong arm, importance "
    "weights and exponential weights move to the best one, and the one-side gate stays near the "
    "behaviour.",
    source="estimators sheet, check of the REC family",
    minutes=0.2,
    run=run,
)
