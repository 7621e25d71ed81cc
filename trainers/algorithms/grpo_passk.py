"""GRPO for pass@k: only the best play of a group is paid, by its lead (arXiv 2503.19595).

A = (best R - second best R) / (std + eps) for the best play and 0 for all others: what it adds to
the best of k. A tie at the top gives nobody anything. Groups are those of a start and seat.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="grpo_passk",
    summary="the best play of a group is paid by its lead over the second, the others nothing",
    paper="Tang et al. 2025, Inference Time Objectives, arXiv 2503.19595",
    formula="A_best = (max R - second R) / (std_group R + eps), all others 0",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"),
        center=option("none"),
        scale=option("none"),
        modify=(option("best_of_group", std=True, by="group+agent"),),
    ),
    loss=LossSpec(
        kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("seq_mean_token_mean")
    ),
    optim=OptimSpec(lr=1e-3),
)
