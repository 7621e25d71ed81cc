"""REINFORCE++-baseline: outcome minus group mean, whitened over tokens (arXiv 2501.03262).

The group mean is the baseline; mean and deviation are then taken over all policy tokens of the
batch, which centres a second time because tokens, not plays, are counted. The KL to the start
policy is a loss of kind k2, whose gradient is that of KL(pi || ref); k1 as a loss has none.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="reinforce_pp_baseline",
    summary="outcome minus group mean, whitened over tokens, with a KL loss",
    paper="Hu et al. 2025, REINFORCE++, arXiv 2501.03262",
    formula=r"A = \whiten_\tokens (R - \mean_g R) \\ L = L_\clip + \frac{\beta}{2} (\log \pi - "
    r"\log \pi_\ref)^2",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(normalise=p.TokenStd()),
    loss=p.LossConfig(regularise=(p.Kl(kind="k2", coef=0.001),), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "loss.regularise.kl.coef": p.Published(
            0.01, "OpenRLHF, default", "a weak start policy is no anchor worth keeping"
        ),
        "optim.lr": p.Published(1e-6, "OpenRLHF, default", p.SMALL),
    },
)
