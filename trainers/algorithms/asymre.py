"""AsymRE: a baseline below the group mean, which leans on good plays (arXiv 2506.20520).

On plays of another policy a lower baseline imitates what went well more than it flees what went
badly. The same loss is -A logp - beta logp (variant `nll`, REP-AsymRE). Groups of equal rewards
teach too: their plays get +beta.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="asymre",
    summary="policy gradient with a baseline beta below the group mean (REP-AsymRE)",
    paper="Arnal et al. 2025, AsymRE, arXiv 2506.20520",
    formula=r"A_i = R_i - \mean_g R + \beta \\ L = -A \log \pi",
    status="formula",
    reproductions=("offline_bandit",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(normalise=p.NoNormalisation(), transform=(p.Shift(beta=0.1),)),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.transform.shift.beta": p.Published(0.1, "Trinity-RFT (2509.24203)"),
        "optim.lr": p.Published(1e-6, "Trinity-RFT", p.SMALL),
        "collect.episodes": p.Published(96, "Trinity-RFT", p.CHEAP),
    },
    variants={"nll": {"advantage.transform": (), "loss.regularise": (p.Nll(coef=0.1),)}},
)
