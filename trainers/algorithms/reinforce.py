"""REINFORCE with a batch-mean baseline (Williams, 1992): the plainest policy gradient."""

from coevo.envs.rewards import Format
from coevo.trainers.algorithm import Algorithm, CollectConfig, OptimConfig
from coevo.trainers.estimators import (
    AdvantageConfig,
    BatchMean,
    LossConfig,
    NoNormalisation,
    PolicyGradient,
    SeqMeanTokenSum,
    ToGo,
)

ALGORITHM = Algorithm(
    name="reinforce",
    summary="return-to-go minus the batch mean",
    paper="Williams 1992, Machine Learning 8",
    formula=r"A_{i,k} = Y_{i,k} - \mean_\batch Y, \quad Y_{i,k} = \sum_{k' \ge k} r_{i,k'} \\ "
    r"L = -A \log \pi",
    status="vectors",
    rewards=(Format(legal=0.05),),
    collect=CollectConfig(episodes=512),
    advantage=AdvantageConfig(
        credit=ToGo(gamma=1.0), baseline=BatchMean(), normalise=NoNormalisation()
    ),
    loss=LossConfig(surrogate=PolicyGradient(), aggregate=SeqMeanTokenSum()),
    optim=OptimConfig(lr=1e-3),
)
