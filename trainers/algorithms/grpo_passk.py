"""GRPO for pass@k: only the best play of a group is paid, by its lead (arXiv 2503.19595).

A = (best R - second best R) / (std + eps) for the best play and 0 for all others: what it adds to
the best of k. A tie at the top gives nobody anything. Groups are those of a start and seat.
"""

from coevo.envs.rewards import Format
from coevo.trainers.algorithm import Algorithm, CollectConfig, OptimConfig
from coevo.trainers.estimators import (
    AdvantageConfig,
    BestOfGroup,
    LossConfig,
    NoBaseline,
    NoNormalisation,
    Outcome,
    PpoClip,
    SeqMeanTokenMean,
)

ALGORITHM = Algorithm(
    name="grpo_passk",
    summary="the best play of a group is paid by its lead over the second, the others nothing",
    paper="Tang et al. 2025, Inference Time Objectives, arXiv 2503.19595",
    formula=r"A_\best = \frac{R_\best - R_\second}{\std_g R + \epsilon}, \quad A_\others = 0",
    status="vectors",
    rewards=(Format(legal=0.05),),
    collect=CollectConfig(episodes=512, group_size=8),
    advantage=AdvantageConfig(
        credit=Outcome(),
        baseline=NoBaseline(),
        normalise=NoNormalisation(),
        transform=(BestOfGroup(std=True, by="group+agent"),),
    ),
    loss=LossConfig(surrogate=PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=SeqMeanTokenMean()),
    optim=OptimConfig(lr=1e-3),
)
