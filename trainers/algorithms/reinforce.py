"""REINFORCE with a batch-mean baseline (Williams, 1992): the plainest policy gradient."""

from coevo.trainers.algorithm import Algorithm, OptimSpec, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="reinforce",
    summary="return-to-go minus the batch mean",
    paper="Williams 1992, Machine Learning 8",
    formula="A(i,k) = sum_{k'>=k} r(i,k') - mean over the batch; loss = -A log pi",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512),
    advantage=AdvantageSpec(
        credit=option("to_go", gamma=1.0), center=option("batch"), scale=option("none")
    ),
    loss=LossSpec(kind=option("pg"), aggregate=option("seq_mean_token_sum")),
    optim=OptimSpec(lr=1e-3),
)
