"""Set credit (polychromic objective): a policy that keeps two good answers instead of one.

Setting   Four arms with rewards (1, 0.95, 0, 0); 8 sets of 4 episodes per step, 800 steps from the
          uniform policy. A set is worth its mean reward times its share of different arms, and all
          its members share the advantage f(S) - mean f. REINFORCE has a batch mean as baseline.
Measured  min(P1, P2), the probability of the rarer of the good arms, and success, P1 + P2: set
          credit pays for diversity with success, and that price is shown.
Chosen    Arms, sets and step size; the paper reports gridworlds and gives no such figure.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, near
from coevo.benchmarks.reproductions.tabular import (
    REAL,
    SoftmaxTable,
    episodes,
    generators,
    moves,
    uniform,
)
from coevo.trainers.estimators import (
    AdvantageConfig,
    Denominators,
    LossConfig,
    NoBaseline,
    NoNormalisation,
    PolicyGradient,
    ShareSet,
    advantages,
)

REWARD = torch.tensor([1.0, 0.95, 0.0, 0.0], dtype=REAL)
SETS, MEMBERS, STEPS, LR = 8, 4, 800, 0.2
SIZE = SETS * MEMBERS
LOSS = LossConfig(surrogate=PolicyGradient())
REINFORCE = AdvantageConfig(normalise=NoNormalisation())
SET = AdvantageConfig(
    baseline=NoBaseline(), normalise=NoNormalisation(), transform=(ShareSet(label="answer"),)
)


def run(seeds: Sequence[int]) -> Outcome:
    """Learn with credit for episodes and with credit for sets."""
    single, shared = _learn(REINFORCE, seeds), _learn(SET, seeds)
    return Outcome(
        (
            Row("min(P1, P2), REINFORCE", single[0], 0.043, high=0.1),
            near("min(P1, P2), set credit", shared[0], 0.41, 0.038),
            near("success, REINFORCE", single[1], 0.996, 0.005),
            near("success, set credit (the price)", shared[1], 0.851, 0.029),
        )
    )


def _learn(
    spec: AdvantageConfig, seeds: Sequence[int]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return min(P1, P2) and P1 + P2 of every seed; seeds learn side by side."""
    sources = generators(seeds)
    policy = SoftmaxTable(torch.zeros(len(seeds), len(REWARD)))
    seed_CG = torch.arange(len(seeds)).unsqueeze(1).expand(-1, SIZE)
    set_CG = (torch.arange(SIZE) // MEMBERS).expand_as(seed_CG)
    for _ in range(STEPS):
        arm_CG = policy.draw(uniform(sources, SIZE))
        group, members, arm = (key.reshape(-1) for key in (seed_CG, set_CG, arm_CG))
        batch = episodes(REWARD[arm], group=group, set=members, answer=arm)
        advantage_CL = advantages(spec, batch).advantage_BS
        # the denominator of one seed: each takes the step that it would take alone
        denom = Denominators(SIZE, SIZE, 1)
        policy.update(LOSS, moves(seed_CG, arm_CG), advantage_CL, denom, lr=LR)
    p_CA = policy.probabilities_CA()
    rarer, success = p_CA[:, :2].amin(1).tolist(), p_CA[:, :2].sum(1).tolist()
    return tuple(rarer), tuple(success)


REPRODUCTION = Reproduction(
    name="polychromic",
    property="Credit for sets keeps both good arms where REINFORCE keeps one, at a price in "
    "success.",
    source="Hamid et al. 2025, Polychromic Objectives, arXiv 2509.25424 (f(S) = mean reward times "
    "diversity of a set); figures: our numpy experiment, benchmarks/studies/polychromic_numpy.py",
    minutes=0.2,
    run=run,
    on="alone",
)
