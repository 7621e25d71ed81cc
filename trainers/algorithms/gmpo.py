"""GMPO: the geometric mean of a row's clipped ratios (arXiv 2507.20673).

One token with an extreme ratio moves a geometric mean less than an arithmetic one, so bounds, which
are on log s, can be wide.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="gmpo",
    summary="GRPO with the geometric mean of clipped token ratios",
    paper="Zhao et al. 2025, GMPO, arXiv 2507.20673",
    formula=r"L_i = -A_i \exp(\mean_t \clip(\log s_t, -\epsilon_\lo, \epsilon_\hi)), \quad "
    r"\text{clipped where the loss grows}",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    loss=p.LossConfig(surrogate=p.Gmpo(eps_lo=0.4, eps_hi=0.4), aggregate=p.SeqMeanTokenMean()),
    optim=p.OptimConfig(lr=1e-3, minibatches=2),
    published={"loss.surrogate.eps_hi": p.Published(0.4, "paper: ratios in (e^-0.4, e^0.4)")},
)
