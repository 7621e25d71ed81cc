"""TOPR: good rows are imitated in full, bad ones only while the policy writes them (2503.14286).

-alpha A logp with alpha = clip(s, 0, 1) for A <= 0 and 1 for A > 0, s the ratio of the whole row:
stable on plays of an older policy without KL or clip. The paper's rewards are +1 and -1 with a
baseline that sets their proportion; here the baseline is the group mean.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="topr",
    summary="REINFORCE whose bad rows weigh at most their importance ratio",
    paper="Le Roux et al. 2025, TOPR, arXiv 2503.14286",
    formula="loss = -alpha A logp, alpha = 1 for A > 0, else clip(prod_t s_t, 0, 1)",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(credit=option("outcome"), center=option("group"), scale=option("none")),
    loss=LossSpec(
        ratio_level=option("seq_prod"),
        kind=option("topr"),
        aggregate=option("seq_mean_token_sum"),
    ),
    optim=OptimSpec(lr=1e-3, minibatches=2),
)
