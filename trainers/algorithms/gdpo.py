"""GDPO: every reward normalised in its group, added, then normalised over the batch (2601.05242).

On the sum of rewards GRPO gives different combinations one advantage; apart they keep theirs. Rows
are counted in the batch's statistics, as in the TRL variant; the verl variant of the repository
counts tokens (variant `tokens`). Both skip this step where there is a single reward; here it is
always taken, and on one reward it is another division by a common number.

A reward that hardly varies is divided by its tiny deviation and becomes loud.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="gdpo",
    summary="GRPO for several rewards, each normalised apart before they are added",
    paper="Liu et al. 2026, GDPO, arXiv 2601.05242",
    formula=r"A = \whiten_\batch \sum_k w_k \frac{R_k - \mean_g R_k}{\std_g R_k + \epsilon}",
    status="toy",
    shows="a small reward is kept where scales differ; at equal scales the sum does as well",
    reproductions=("gdpo_collapse",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(compose=p.Decoupled(), transform=(p.BatchWhiten(),), eps=1e-4),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.eps": p.Published(1e-4, "paper, TRL"),
        "optim.lr": p.Published("1e-6 (tools), 5e-6 (mathematics)", "paper", p.SMALL),
        "collect.episodes": p.Published(512, "paper, tools"),
        "collect.group_size": p.Published("4 (tools), 16 (mathematics)", "paper", p.CHEAP),
    },
    variants={"tokens": {"advantage.transform": (p.TokenWhiten(),)}},
)
