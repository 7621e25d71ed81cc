"""RED-Drop: bad plays are left out until there are as many as good ones (arXiv 2509.24203).

Good is R >= the group's mean. Which bad plays stay is drawn by chance; the mean is taken again over
what is kept, and the others get 0. Where good plays outnumber bad ones nothing is dropped.
"""

from coevo.envs.rewards import Format
from coevo.trainers.algorithm import Algorithm, CollectConfig, OptimConfig, Published
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import (
    AdvantageConfig,
    DropNegatives,
    GroupMean,
    LossConfig,
    NoNormalisation,
    Outcome,
    PolicyGradient,
    TokenMean,
)

CODE = "released code (Trinity-RFT)"

ALGORITHM = Algorithm(
    name="red_drop",
    summary="REINFORCE on as many bad plays of a group as there are good ones",
    paper="Yao et al. 2025, Group-Relative REINFORCE, arXiv 2509.24203",
    formula=r"A_i = R_i - \mean_\kept R \text{ if } i \text{ is kept, else } 0 \\ L = -A \log \pi",
    status="vectors",
    rewards=(Format(legal=0.05),),
    collect=CollectConfig(episodes=512, group_size=8),
    advantage=AdvantageConfig(
        credit=Outcome(),
        baseline=GroupMean(),
        normalise=NoNormalisation(),
        transform=(DropNegatives(),),
    ),
    loss=LossConfig(surrogate=PolicyGradient(), aggregate=TokenMean()),
    optim=OptimConfig(lr=1e-3),
    published={
        "optim.lr": Published(value=1e-6, source=CODE, why=SMALL),
        "collect.episodes": Published(value=96, source=CODE, why=CHEAP),
    },
)
