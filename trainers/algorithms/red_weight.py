"""RED-Weight: good plays weigh exponentially more than bad ones (arXiv 2509.24203).

A = (R - group mean) exp((R - group mean) / T). Of the family's members it is the one that leaves
a bad behaviour policy for the best arm without importance weights, for a small T.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="red_weight",
    summary="REINFORCE whose advantages are weighed by their exponential",
    paper="Yao et al. 2025, Group-Relative REINFORCE, arXiv 2509.24203",
    formula="A_i = a exp(a / T), a = R_i - mean_group R; loss = -A logp",
    status="checked",
    checks=("offline_bandit",),
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"),
        center=option("group"),
        scale=option("none"),
        modify=(option("exp_weight", temperature=1.0),),
    ),
    loss=LossSpec(kind=option("pg"), aggregate=option("token_mean")),
    optim=OptimSpec(lr=1e-3),
    published={
        "advantage.modify.exp_weight.temperature": Published(
            value=1.0, source="released code (Trinity-RFT)"
        ),
        "optim.lr": Published(value=1e-6, source="released code", why=SMALL),
        "sampler.episodes": Published(value=96, source="released code", why=CHEAP),
    },
)
