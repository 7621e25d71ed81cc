"""AsymRE: a baseline below the group mean, which leans on good plays (arXiv 2506.20520).

A = R - (mean - beta). On plays of another policy a lower baseline imitates what went well more
than it flees what went badly. The same loss is -A logp - beta logp (variant `nll`, REP-AsymRE).
Groups of equal rewards teach too: their plays get +beta.
"""

from coevo.envs.rewards import Format
from coevo.trainers.algorithm import Algorithm, CollectConfig, OptimConfig, Published
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import (
    AdvantageConfig,
    GroupMean,
    LossConfig,
    Nll,
    NoNormalisation,
    Outcome,
    PolicyGradient,
    Shift,
    TokenMean,
)

ALGORITHM = Algorithm(
    name="asymre",
    summary="policy gradient with a baseline beta below the group mean (REP-AsymRE)",
    paper="Arnal et al. 2025, AsymRE, arXiv 2506.20520",
    formula=r"A_i = R_i - \mean_g R + \beta \\ L = -A \log \pi",
    status="formula",
    reproductions=("offline_bandit",),
    rewards=(Format(legal=0.05),),
    collect=CollectConfig(episodes=512, group_size=8),
    advantage=AdvantageConfig(
        credit=Outcome(),
        baseline=GroupMean(),
        normalise=NoNormalisation(),
        transform=(Shift(beta=0.1),),
    ),
    loss=LossConfig(surrogate=PolicyGradient(), aggregate=TokenMean()),
    optim=OptimConfig(lr=1e-3),
    published={
        "advantage.transform.shift.beta": Published(value=0.1, source="Trinity-RFT (2509.24203)"),
        "optim.lr": Published(value=1e-6, source="Trinity-RFT", why=SMALL),
        "collect.episodes": Published(value=96, source="Trinity-RFT", why=CHEAP),
    },
    variants={"nll": {"advantage.transform": (), "loss.regularise": (Nll(coef=0.1),)}},
)
