"""OPO: the baseline that makes the gradient vary least, for rows of different length (2505.23585).

b = sum(l_i R_i) / sum(l_i), the group mean weighed by length, since the gradient of a row grows
with its tokens. Strictly on-policy: one step per update, no clip, no KL, no entropy bonus.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="opo",
    summary="outcome minus the length-weighted group mean, strictly on-policy",
    paper="Hao et al. 2025, OPO, arXiv 2505.23585",
    formula="A_i = R_i - sum_j l_j R_j / sum_j l_j; loss = -A logp",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"), center=option("group"), scale=option("none"), weights="token"
    ),
    loss=LossSpec(kind=option("pg"), aggregate=option("seq_mean_token_sum")),
    optim=OptimSpec(lr=1e-3),
)
