"""Constrained RLHF: rewards are held to points beyond which they mislead (arXiv 2310.04373).

Each reward has a proxy point; multipliers weigh the advantages so that the mean of each reward
stays there, pushing it down where it is above (`equality`), or letting go of it (variant
`inequality`). Each reward has a baseline of its own, the mean of its group; in the variant `values`
a table of values of its own, for tasks whose states come back.

The points are given: `--set advantage.compose.points.format=0.05`. Left out: value heads on a
model, and the search for points by Nelder-Mead over runs. A KL is a term of the loss, so that its
weight does not move with the multipliers.
"""

from coevo.trainers import parts as p

CODE = "released code, tedmoskovitz/ConstrainedRL4LMs"

ALGORITHM = p.Algorithm(
    name="constrained_rlhf",
    summary="multipliers hold every reward at a point beyond which it misleads",
    paper="Moskovitz et al. 2023, constrained RLHF, arXiv 2310.04373",
    formula=r"A = (N - \sum_i \lambda_i) A_0 + \sum_i \lambda_i A_i, \quad \lambda_i = \tanh \mu_i "
    r"\\ \mu_i \leftarrow \mu_i - \eta (1 - \lambda_i^2) (J_i - \theta_i)",
    status="toy",
    reproductions=("constrained_points",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(
        compose=p.Constrained(points={"format": 0.05}), normalise=p.NoNormalisation()
    ),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.compose.points": p.Published("intent .44, METEOR .238", CODE),
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
    },
    variants={
        "inequality": {"advantage.compose.form": "inequality"},
        "values": {"advantage.credit": p.TdTable(), "advantage.baseline": p.NoBaseline()},
    },
)
