"""Set credit (polychromic objective): a policy that keeps two good answers instead of one.

Setting   Four arms with rewards (1, 0.95, 0, 0); 8 sets of 4 plays per step, 800 steps from the
          uniform policy. A set is worth its mean reward times its share of different arms, and all
          its members share the advantage f(S) - mean f. REINFORCE has a batch mean as baseline.
Measured  min(P1, P2), the probability of the rarer of the good arms, and success, P1 + P2: set
          credit pays for diversity with success, and that price is shown.
Open      The sheet gives no step size. At 0.2 both successes come out as in the sheet; the good arm
          that REINFORCE gives up is then rarer there (.018) than here.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from coevo.benchmarks.checks.check import Check, Outcome, Row, near
from coevo.benchmarks.checks.tabular import REAL, TabularPolicy, generators, moves, plays, uniform
from coevo.trainers.estimators import AdvantageSpec, Denominators, LossSpec, advantages, option

REWARD = torch.tensor([1.0, 0.95, 0.0, 0.0], dtype=REAL)
SETS, MEMBERS, STEPS, LR = 8, 4, 800, 0.2
SIZE = SETS * MEMBERS
LOSS = LossSpec(kind=option("pg"))
REINFORCE = AdvantageSpec(scale=option("none"))
SET = AdvantageSpec(
    center=option("none"), scale=option("none"), modify=(option("share_set", label="answer"),)
)


def run(seeds: Sequence[int]) -> Outcome:
    """Learn with credit for plays and with credit for sets."""
    single, shared = _learn(REINFORCE, seeds), _learn(SET, seeds)
    return Outcome(
        (
            Row("min(P1, P2), REINFORCE", single[0], 0.018, high=0.1),
            near("min(P1, P2), set credit", shared[0], 0.422, 0.05),
            near("success, REINFORCE", single[1], 0.996, 0.005),
            near("success, set credit (the price)", shared[1], 0.852, 0.03),
        )
    )


def _learn(
    spec: AdvantageSpec, seeds: Sequence[int]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Give min(P1, P2) and P1 + P2 of every seed; seeds learn side by side."""
    sources = generators(seeds)
    policy = TabularPolicy(torch.zeros(len(seeds), len(REWARD)))
    seed_CG = torch.arange(len(seeds)).unsqueeze(1).expand(-1, SIZE)
    set_CG = (torch.arange(SIZE) // MEMBERS).expand_as(seed_CG)
    for _ in range(STEPS):
        arm_CG = policy.draw(uniform(sources, SIZE))
        group, members, arm = (key.reshape(-1) for key in (seed_CG, set_CG, arm_CG))
        batch = plays(REWARD[arm], group=group, set=members, answer=arm)
        advantage_BL = advantages(spec, batch).advantage_BS
        # the denominator of one seed: each takes the step that it would take alone
        denom = Denominators(SIZE, SIZE, 1)
        policy.update(LOSS, moves(seed_CG, arm_CG), advantage_BL, denom, lr=LR)
    p_CA = policy.probabilities_CA()
    rarer, success = p_CA[:, :2].amin(1).tolist(), p_CA[:, :2].sum(1).tolist()
    return tuple(rarer), tuple(success)


CHECK = Check(
    name="polychromic",
    property="Credit for sets keeps both good arms where REINFORCE keeps one, at a price in "
    "success.",
    source="estimators sheet, check of the polychromic objective: min(P1, P2) .018 against .422, "
    "success .996 against .852",
    minutes=0.2,
    run=run,
)
