"""SAPO: a soft gate on the ratio in the place of a clip (arXiv 2511.20347).

-(4 / tau) sigmoid(tau (s - 1)) A: at s = 1 the gradient of -A s, fading smoothly on both sides,
faster for bad tokens (tau 1.05) than for good ones (1.0).
"""

from coevo.envs.rewards import Format
from coevo.trainers.algorithm import Algorithm, CollectConfig, OptimConfig, Published
from coevo.trainers.estimators import (
    AdvantageConfig,
    GroupMean,
    GroupStd,
    LossConfig,
    Outcome,
    Sapo,
    SeqMeanTokenMean,
)

ALGORITHM = Algorithm(
    name="sapo",
    summary="GRPO with a sigmoid gate on the ratio",
    paper="Gao et al. 2025, SAPO, arXiv 2511.20347",
    formula=r"L_t = -\frac{4}{\tau} \sigmoid(\tau (s_t - 1)) A_t, \quad \tau \text{ by the sign "
    r"of } A_t",
    status="vectors",
    rewards=(Format(legal=0.05),),
    collect=CollectConfig(episodes=512, group_size=8),
    advantage=AdvantageConfig(
        credit=Outcome(), baseline=GroupMean(), normalise=GroupStd(), eps=1e-6
    ),
    loss=LossConfig(surrogate=Sapo(tau_pos=1.0, tau_neg=1.05), aggregate=SeqMeanTokenMean()),
    optim=OptimConfig(lr=1e-3, minibatches=2),
    published={
        "loss.surrogate.tau_pos": Published(value=1.0, source="TRL"),
        "loss.surrogate.tau_neg": Published(value=1.05, source="TRL"),
    },
)
