"""BNPO: the advantage over an adaptive Beta density of the success rate (arXiv 2506.02864).

A = (R - p) / f(p), p the group's mean reward mapped to [0, 1], f = Beta(alpha, beta) fitted to the
p of the batch such that the gradient varies least. alpha = beta = 1 is plain centring, 3/2 is
GRPO. Several rewards are normalised apart and added (the paper's decomposition; its factor 1/K
is left to the learning rate). Not TRL's loss type `bnpo`, which is a mean over local tokens.

Not copied from the released code: its loop adds every stored tensor whose name contains
"reward_tensor", so that the total counts once more beside its parts.

`low` and `high` are the range of a reward; a reward outside of it is an error.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import CHEAP, RANGE, SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="bnpo",
    summary="outcome minus success rate, over a Beta density fitted to the success rates",
    paper="Xiao et al. 2025, BNPO, arXiv 2506.02864",
    formula="A_i = (R_i - p) / Beta(p; alpha, beta), alpha and beta from mean and variance of p",
    status="checked",
    checks=("bnpo_optimum",),
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        compose=option("decoupled"),
        credit=option("outcome"),
        center=option("group"),
        scale=option("beta_pdf", low=-2.0, high=2.0),
    ),
    loss=LossSpec(
        kind=option("dual_clip", eps_lo=0.2, eps_hi=0.28, c=10.0),
        aggregate=option("seq_mean_token_sum"),
    ),
    optim=OptimSpec(lr=1e-3),
    published={
        "advantage.scale": Published(value="beta_pdf(low=0, high=1)", source="paper", why=RANGE),
        "loss.kind": Published(value="dual_clip(c=10, eps_hi=0.28)", source="released code"),
        "optim.lr": Published(value=1e-6, source="released code", why=SMALL),
        "optim.warmup": Published(value=10, source="released code", why="runs end by a budget"),
        "sampler.episodes": Published(value="32 prompts", source="released code", why=CHEAP),
        "sampler.group_size": Published(value=16, source="released code", why=CHEAP),
    },
)
