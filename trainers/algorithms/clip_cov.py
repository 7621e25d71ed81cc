"""Clip-Cov: some tokens that would cost most entropy do not teach (arXiv 2505.22617).

cov_t = (A_t - mean A)(logp_t - mean logp) over the tokens of a mini-batch. Among tokens with
1 < cov < 5 a share of all tokens, drawn at random and at least one, is silenced. The clip of the
loss itself is opened to 1/1. The bounds suppose advantages of unit variance, as GRPO's are.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

CODE = "released scripts"

ALGORITHM = Algorithm(
    name="clip_cov",
    summary="GRPO without the gradient of a few tokens of high covariance",
    paper="Cui et al. 2025, The Entropy Mechanism, arXiv 2505.22617",
    formula="loss_t = 0 for a random share of the tokens with 1 < cov(A, logp)_t < 5",
    status="checked",
    checks=("cov_entropy",),
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"), center=option("group"), scale=option("group_std"), eps=1e-6
    ),
    loss=LossSpec(
        kind=option("ppo_clip", eps_lo=1.0, eps_hi=1.0),
        gates=(option("clip_cov", ratio=2e-4, lb=1.0, ub=5.0),),
        aggregate=option("token_mean"),
    ),
    optim=OptimSpec(lr=1e-3, minibatches=2),
    published={
        "loss.gates.clip_cov.ratio": Published(value=2e-4, source=CODE),
        "loss.kind.eps_lo": Published(value=1.0, source=CODE),
        "optim.lr": Published(value="5e-7 (7B), 1e-6 (32B)", source=CODE, why=SMALL),
    },
)
