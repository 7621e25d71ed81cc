"""GMPO: the geometric mean of a row's clipped ratios (arXiv 2507.20673).

-A exp(mean_t log s_t), log s_t held in [-eps_lo, eps_hi] where that makes the loss worse. One token
with an extreme ratio moves a geometric mean less than an arithmetic one, so bounds can be wide.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="gmpo",
    summary="GRPO with the geometric mean of clipped token ratios",
    paper="Zhao et al. 2025, GMPO, arXiv 2507.20673",
    formula="loss = -A exp(mean_t clip(log s_t, -eps_lo, eps_hi)), pessimistic clip",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"), center=option("group"), scale=option("group_std"), eps=1e-6
    ),
    loss=LossSpec(
        kind=option("gmpo", eps_lo=0.4, eps_hi=0.4), aggregate=option("seq_mean_token_mean")
    ),
    optim=OptimSpec(lr=1e-3, minibatches=2),
    published={"loss.kind.eps_hi": Published(value=0.4, source="paper: ratios in (e^-0.4, e^0.4)")},
)
