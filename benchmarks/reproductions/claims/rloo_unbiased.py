"""Baselines: the leave-one-out mean keeps the gradient, the group mean shrinks it."""

from collections.abc import Callable
from statistics import fmean
from typing import Any

import torch

from coevo.benchmarks.reproductions.claim import Claim, Expect, Found, value
from coevo.benchmarks.reproductions.tabular import (
    SoftmaxTable,
    credited,
    generators,
    moves,
    uniform,
)
from coevo.trainers import components as c

GOOD, GROUPS, SIZE = 0.1, 10_000, 8
ANALYTIC, SHRINK = GOOD * (1 - GOOD), (SIZE - 1) / SIZE
ERRORS = 3.0
"""Standard errors that a mean may be off."""


def _gradient(baseline: Any) -> Callable[[int], dict[str, float]]:
    def measure(seed: int) -> dict[str, float]:
        policy = SoftmaxTable(torch.tensor([GOOD, 1 - GOOD]).log().expand(GROUPS, 2))
        arm_GK = policy.draw(uniform(generators([seed]), GROUPS, SIZE)[0])
        group_GK = torch.arange(GROUPS).unsqueeze(1).expand_as(arm_GK)
        spec = {"baseline": baseline, "normalise": c.NoNormalisation()}
        reward_B = (arm_GK == 0).double().reshape(-1)
        advantage_BT = credited(spec, reward_B, group=group_GK.reshape(-1))
        # every group is an update of its own: SIZE rows each
        plain, played = {"surrogate": c.PolicyGradient()}, moves(group_GK, arm_GK)
        gradient_G = policy.gradient_CA(plain, played, advantage_BT, SIZE)[:, 0]
        return {"mean": float(gradient_G.mean()) / ANALYTIC, "variance": float(gradient_G.var())}

    return measure


def _off(arm: str, wanted: float) -> Callable[[Found], list[float]]:
    """Return by how many standard errors the mean over all groups is off."""

    def errors(found: Found) -> list[float]:
        mean, variance = found[arm]["mean"], found[arm]["variance"]
        error = (fmean(variance) / (len(mean) * GROUPS)) ** 0.5 / ANALYTIC
        return [(fmean(mean) - wanted) / error]

    return errors


def _alike(found: Found) -> list[float]:
    return [ratio * SHRINK**2 for ratio in value("loo.variance / group.variance", found)]


CLAIM = Claim(
    property="""The leave-one-out baseline lowers the variance of the policy gradient and leaves its
        mean alone; the group mean scales it by (G-1)/G.""",
    source="""Ahmadian et al. 2024, Back to Basics, arXiv 2402.14740 (the RLOO estimator), after
        Kool et al. 2019, Buy 4 REINFORCE Samples, Get a Baseline for Free; references are exact,
        derived here""",
    minutes=0.02,
    on="formula",
    setting="""Two arms, the good one (reward 1) with probability 0.1; groups of 8 episodes, 10 000
        groups per seed, each on its own copy of the policy.""",
    measured="""Gradient on the logit of the good arm: its mean over groups in units of the analytic
        value p (1 - p), and its variance. The group mean holds 1/G of the own reward, so that it
        leaves (G - 1) / G of the gradient; the mean of the others holds none.""",
    chosen="Sizes.",
    note=f"means are held to {ERRORS:g} standard errors",
    arms={
        "none": _gradient(c.NoBaseline()),
        "group": _gradient(c.GroupMean()),
        "loo": _gradient(c.LeaveOneOut()),
    },
    expect=(
        Expect("mean / analytic, no baseline", "none.mean", 1.0),
        Expect("standard errors of no baseline from 1", _off("none", 1.0), 0.0, -ERRORS, ERRORS),
        Expect("mean / analytic, group mean", "group.mean", SHRINK),
        Expect(
            "standard errors of the group mean from (G-1)/G",
            _off("group", SHRINK),
            0.0,
            -ERRORS,
            ERRORS,
        ),
        Expect("mean / analytic, leave one out", "loo.mean", 1.0),
        Expect("standard errors of leave one out from 1", _off("loo", 1.0), 0.0, -ERRORS, ERRORS),
        Expect("variance, no baseline", "none.variance"),
        Expect("variance, group mean", "group.variance"),
        Expect("variance, leave one out", "loo.variance"),
        Expect("variance saved by leaving one out", "none.variance - loo.variance", low=0.0),
        Expect("variance / (G/(G-1))^2, leave one out over group", _alike, 1.0, 0.999, 1.001),
    ),
)
