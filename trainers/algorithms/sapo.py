"""SAPO: a soft gate on the ratio in the place of a clip (arXiv 2511.20347).

-(4 / tau) sigmoid(tau (s - 1)) A: at s = 1 the gradient of -A s, fading smoothly on both sides,
faster for bad tokens (tau 1.05) than for good ones (1.0).
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="sapo",
    summary="GRPO with a sigmoid gate on the ratio",
    paper="Gao et al. 2025, SAPO, arXiv 2511.20347",
    formula="loss = -(4 / tau) sigmoid(tau (s - 1)) A, tau by the sign of A",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"), center=option("group"), scale=option("group_std"), eps=1e-6
    ),
    loss=LossSpec(
        kind=option("sapo", tau_pos=1.0, tau_neg=1.05), aggregate=option("seq_mean_token_mean")
    ),
    optim=OptimSpec(lr=1e-3, minibatches=2),
    published={
        "loss.kind.tau_pos": Published(value=1.0, source="TRL"),
        "loss.kind.tau_neg": Published(value=1.05, source="TRL"),
    },
)
