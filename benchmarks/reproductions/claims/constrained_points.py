"""Constrained RLHF: two rewards that agree with the truth only up to a point."""

import torch

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import SGD, Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import BANDIT
from coevo.envs.rewards import Noted
from coevo.trainers import components as c

FIRST, SECOND, POINT = (0.1, 0.3, 0.5, 0.7, 0.9), (0.5, 0.55, 0.5, 0.3, 0.2), 0.5
TRUTH_A = -4 * sum((torch.tensor(r, dtype=torch.float64) - POINT) ** 2 for r in (FIRST, SECOND))
POINTS = {"advantage.compose.points": {"noted_first": POINT, "noted_second": POINT}}


def _measure(end: Trained) -> dict[str, float]:
    (p_A,) = end.learnt().values()
    first, second = (float(p_A @ torch.tensor(r, dtype=torch.float64)) for r in (FIRST, SECOND))
    return {"truth": float(p_A @ TRUTH_A), "first": first, "second": second}


CLAIM = Claim(
    property="""A sum of two rewards is driven beyond the points up to which they agree with the
        truth; multipliers hold both rewards at their points, where the truth is best.""",
    source="""Moskovitz et al. 2023, arXiv 2310.04373 (rewards over-optimised beyond proxy
        points; multipliers hold them); the best truth is 0, at the points""",
    minutes=1.0,
    on="toy",
    setting="""Five arms with two rewards; the truth is best where both are .5, which is their
        point. `constrained_rlhf`, its variant `inequality`, and the plain sum as the control,
        on a table with an entropy bonus of .02: 32 episodes an update, 300 updates.""",
    measured="Expected truth, and the mean of each reward, under the policy at the end.",
    chosen="""Entropy bonus and sizes, before anything was run. Bounds, also: the sum below -.3,
        multipliers above -.1.""",
    limits="""Points are known; baselines are group means, not value heads.""",
    world=World(
        BANDIT,
        300,
        {"payoffs": ((0.0,) * len(FIRST),), "notes": {"first": FIRST, "second": SECOND}},
    ),
    changes={
        **SGD,
        "rewards": (Noted(key="first"), Noted(key="second")),
        "collect.episodes": 32,
        "collect.group_size": 32,
        "loss.regularise": (c.Entropy(coef=0.02),),
        "optim.lr": 2.0,
    },
    arms={
        "summed": Arm("constrained_rlhf", {"advantage.compose": c.WeightedSum()}),
        "equality": Arm("constrained_rlhf", POINTS),
        "inequality": Arm("constrained_rlhf:inequality", POINTS),
    },
    measure=_measure,
    expect=(
        Expect("truth, summed", "summed.truth", high=-0.3),
        Expect("first reward, summed", "summed.first"),
        Expect("second reward, summed", "summed.second"),
        Expect("truth, multipliers (tanh)", "equality.truth", 0.0, low=-0.1),
        Expect("first reward, multipliers", "equality.first", 0.5, 0.4, 0.6),
        Expect("second reward, multipliers", "equality.second", 0.5, 0.4, 0.6),
        Expect("truth, multipliers (sigmoid)", "inequality.truth"),
    ),
)
