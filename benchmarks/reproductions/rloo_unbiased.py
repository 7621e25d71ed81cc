"""Baselines: the leave-one-out mean keeps the gradient, the group mean shrinks it.

Setting   Two arms, the good one (reward 1) with probability 0.1; groups of 8 episodes, 10 000
          groups per seed, each on its own copy of the policy.
Measured  Gradient on the logit of the good arm: its mean over groups in units of the analytic
          value p (1 - p), and its variance. The group mean holds 1/G of the own reward, so that it
          leaves (G - 1) / G of the gradient; the mean of the others holds none.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.benchmarks.reproductions.tabular import (
    SoftmaxTable,
    episodes,
    generators,
    moves,
    uniform,
)
from coevo.envs.core.config import read
from coevo.trainers.estimators import (
    AdvantageConfig,
    Baseline,
    Denominators,
    LossConfig,
    NoNormalisation,
    PolicyGradient,
    advantages,
    policy_loss,
)

GOOD, GROUPS, SIZE = 0.1, 10_000, 8
ERRORS = 3.0
"""Standard errors that a mean may be off."""
CENTERS = ("no_baseline", "group_mean", "leave_one_out")


def run(seeds: Sequence[int]) -> Outcome:
    """Measure mean and variance of the gradient under three baselines."""
    found = {name: [_gradient(name, seed) for seed in seeds] for name in CENTERS}
    analytic = GOOD * (1 - GOOD)
    ratio = {n: tuple(float(g.mean()) / analytic for g in found[n]) for n in CENTERS}
    variance = {n: tuple(float(g.var()) for g in found[n]) for n in CENTERS}
    shrink = (SIZE - 1) / SIZE
    alike = tuple(
        b / a * shrink**2
        for a, b in zip(variance["group_mean"], variance["leave_one_out"], strict=True)
    )

    def unbiased(label: str, name: str, value: float) -> Row:
        total = len(seeds) * GROUPS
        error = ERRORS * (sum(variance[name]) / len(seeds) / total) ** 0.5 / analytic
        return Row(label, ratio[name], value, value - error, value + error)

    return Outcome(
        (
            unbiased("mean / analytic, no baseline", "no_baseline", 1.0),
            unbiased("mean / analytic, group mean", "group_mean", shrink),
            unbiased("mean / analytic, leave one out", "leave_one_out", 1.0),
            Row("variance, no baseline", variance["no_baseline"]),
            Row("variance, group mean", variance["group_mean"]),
            Row("variance, leave one out", variance["leave_one_out"]),
            Row(
                "variance saved by leaving one out",
                gaps(variance["no_baseline"], variance["leave_one_out"]),
                low=0.0,
            ),
            Row("variance / (G/(G-1))^2, leave one out over group", alike, 1.0, 0.999, 1.001),
        ),
        note=f"means are held to {ERRORS:g} standard errors",
    )


def _gradient(center: str, seed: int) -> Tensor:
    """Return one estimate of the gradient per group."""
    start = torch.tensor([GOOD, 1 - GOOD]).log().expand(GROUPS, 2)
    policy = SoftmaxTable(start)
    arm_GK = policy.draw(uniform(generators([seed]), GROUPS, SIZE)[0])
    group_GK = torch.arange(GROUPS).unsqueeze(1).expand_as(arm_GK)
    batch = episodes((arm_GK == 0).double().reshape(-1), group=group_GK.reshape(-1))
    spec = AdvantageConfig(baseline=read(Baseline, {"name": center}), normalise=NoNormalisation())
    advantage_CL = advantages(spec, batch).advantage_BS
    inputs = policy.inputs(moves(group_GK, arm_GK), advantage_CL)
    # every group is an update of its own: SIZE rows each
    loss = policy_loss(
        LossConfig(surrogate=PolicyGradient()), inputs, Denominators(SIZE, SIZE, 1)
    ).loss
    return policy.gradient_CA(loss)[:, 0]


REPRODUCTION = Reproduction(
    name="rloo_unbiased",
    property="The leave-one-out baseline lowers the variance of the policy gradient and leaves its "
    "mean alone; the group mean scales it by (G-1)/G.",
    source="Ahmadian et al. 2024, Back to Basics, arXiv 2402.14740 (the RLOO estimator), after "
    "Kool et al. 2019, Buy 4 REINFORCE Samples, Get a Baseline for Free; references are exact, "
    "derived here",
    minutes=0.02,
    run=run,
    on="formula",
)
