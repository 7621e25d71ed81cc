"""RED-Drop: bad plays are left out until there are as many as good ones (arXiv 2509.24203).

Good is R >= the group's mean. Which bad plays stay is drawn by chance; the mean is taken again over
what is kept, and the others get 0. Where good plays outnumber bad ones nothing is dropped.
"""

from coevo.trainers import parts as p

CODE = "released code (Trinity-RFT)"

ALGORITHM = p.Algorithm(
    name="red_drop",
    summary="REINFORCE on as many bad plays of a group as there are good ones",
    paper="Yao et al. 2025, Group-Relative REINFORCE, arXiv 2509.24203",
    formula=r"A_i = R_i - \mean_\kept R \text{ if } i \text{ is kept, else } 0 \\ L = -A \log \pi",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(normalise=p.NoNormalisation(), transform=(p.DropNegatives(),)),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
        "collect.episodes": p.Published(96, CODE, p.CHEAP),
    },
)
