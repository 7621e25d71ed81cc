"""REINFORCE with a batch-mean baseline (Williams, 1992): the plainest policy gradient.

The variant `constant` subtracts one number instead.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="reinforce",
    summary="return-to-go minus the batch mean",
    paper="Williams 1992, Machine Learning 8",
    formula=r"A_{i,k} = Y_{i,k} - \mean_\batch Y, \quad Y_{i,k} = \sum_{k' \ge k} r_{i,k'} \\ "
    r"L = -A \log \pi",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(
        credit=p.ToGo(gamma=1.0), baseline=p.BatchMean(), normalise=p.NoNormalisation()
    ),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.SeqMeanTokenSum()),
    optim=p.OptimConfig(lr=1e-3),
    variants={"constant": {"advantage.baseline": p.ConstantBaseline(value=0.5)}},
)
