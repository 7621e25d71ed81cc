"""CISPO: the importance weight is clipped, not the gradient (MiniMax-M1, arXiv 2506.13585).

-sg[clip(s, 1 - eps_lo, 1 + eps_hi)] A logp: a rare token that moved far still teaches, with a
bounded weight, where a clipped loss would drop it. The variant `cap` has an upper bound only, as
in TRL, whose `epsilon_high` is that bound itself and not added to 1.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="cispo",
    summary="GRPO whose importance weights are clipped and every token teaches",
    paper="MiniMax 2025, MiniMax-M1, arXiv 2506.13585",
    formula=r"L_t = -\sg[\clip(s_t, 1 - \epsilon_\lo, 1 + \epsilon_\hi)] A_t \log \pi_t",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    loss=p.LossConfig(
        surrogate=p.Cispo(form="clip", eps_lo=0.2, eps_hi=0.28), aggregate=p.TokenMean()
    ),
    optim=p.OptimConfig(lr=1e-3, minibatches=2),
    published={
        "loss.surrogate": p.Published(
            "upper bound only, 5.0", "TRL", "both forms exist; see variant cap"
        )
    },
    variants={"cap": {"loss.surrogate": p.Cispo(form="cap", cap=5.0)}},
)
