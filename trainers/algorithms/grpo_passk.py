"""GRPO for pass@k: only the best play of a group is paid, by its lead (arXiv 2503.19595).

That is what it adds to the best of k. A tie at the top gives nobody anything. Groups are those of a
start and seat.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="grpo_passk",
    summary="the best play of a group is paid by its lead over the second, the others nothing",
    paper="Tang et al. 2025, Inference Time Objectives, arXiv 2503.19595",
    formula=r"A_\best = \frac{R_\best - R_\second}{\std_g R + \epsilon}, \quad A_\others = 0",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(
        baseline=p.NoBaseline(),
        normalise=p.NoNormalisation(),
        transform=(p.BestOfGroup(std=True, by="group+agent"),),
    ),
    optim=p.OptimConfig(lr=1e-3),
)
