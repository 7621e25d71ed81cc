"""RED-Weight: good plays weigh exponentially more than bad ones (arXiv 2509.24203).

A = (R - group mean) exp((R - group mean) / T). Of the family's members it is the one that leaves
a bad behaviour policy for the best arm without importance weights, for a small T.
"""

from coevo.envs.rewards import Format
from coevo.trainers.algorithm import Algorithm, CollectConfig, OptimConfig, Published
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import (
    AdvantageConfig,
    ExpWeight,
    GroupMean,
    LossConfig,
    NoNormalisation,
    Outcome,
    PolicyGradient,
    TokenMean,
)

ALGORITHM = Algorithm(
    name="red_weight",
    summary="REINFORCE whose advantages are weighed by their exponential",
    paper="Yao et al. 2025, Group-Relative REINFORCE, arXiv 2509.24203",
    formula=r"A_i = a_i \exp(a_i / T), \quad a_i = R_i - \mean_g R \\ L = -A \log \pi",
    status="formula",
    reproductions=("offline_bandit",),
    rewards=(Format(legal=0.05),),
    collect=CollectConfig(episodes=512, group_size=8),
    advantage=AdvantageConfig(
        credit=Outcome(),
        baseline=GroupMean(),
        normalise=NoNormalisation(),
        transform=(ExpWeight(temperature=1.0),),
    ),
    loss=LossConfig(surrogate=PolicyGradient(), aggregate=TokenMean()),
    optim=OptimConfig(lr=1e-3),
    published={
        "advantage.transform.exp_weight.temperature": Published(
            value=1.0, source="released code (Trinity-RFT)"
        ),
        "optim.lr": Published(value=1e-6, source="released code", why=SMALL),
        "collect.episodes": Published(value=96, source="released code", why=CHEAP),
    },
)
