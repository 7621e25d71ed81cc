"""RED-Weight: good plays weigh exponentially more than bad ones (arXiv 2509.24203).

Of the family's members it is the one that leaves a bad behaviour policy for the best arm without
importance weights, for a small T.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="red_weight",
    summary="REINFORCE whose advantages are weighed by their exponential",
    paper="Yao et al. 2025, Group-Relative REINFORCE, arXiv 2509.24203",
    formula=r"A_i = a_i \exp(a_i / T), \quad a_i = R_i - \mean_g R \\ L = -A \log \pi",
    status="formula",
    reproductions=("offline_bandit",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(
        normalise=p.NoNormalisation(), transform=(p.ExpWeight(temperature=1.0),)
    ),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.transform.exp_weight.temperature": p.Published(
            1.0, "released code (Trinity-RFT)"
        ),
        "optim.lr": p.Published(1e-6, "released code", p.SMALL),
        "collect.episodes": p.Published(96, "released code", p.CHEAP),
    },
)
