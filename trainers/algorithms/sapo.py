"""SAPO: a soft gate on the ratio in the place of a clip (arXiv 2511.20347).

At s = 1 the gradient is that of -A s; it fades on both sides, faster for bad tokens.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="sapo",
    summary="GRPO with a sigmoid gate on the ratio",
    paper="Gao et al. 2025, SAPO, arXiv 2511.20347",
    formula=r"L_t = -\frac{4}{\tau} \sigmoid(\tau (s_t - 1)) A_t, \quad \tau \text{ by the sign "
    r"of } A_t",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    loss=p.LossConfig(surrogate=p.Sapo(tau_pos=1.0, tau_neg=1.05), aggregate=p.SeqMeanTokenMean()),
    optim=p.OptimConfig(lr=1e-3, minibatches=2),
    published={
        "loss.surrogate.tau_pos": p.Published(1.0, "TRL"),
        "loss.surrogate.tau_neg": p.Published(1.05, "TRL"),
    },
)
