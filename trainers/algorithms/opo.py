"""OPO: the baseline that makes the gradient vary least, for rows of different length (2505.23585).

The group mean is weighed by length, since the gradient of a row grows with its tokens. Strictly
on-policy: one step per update, no clip, no KL, no entropy bonus.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="opo",
    summary="outcome minus the length-weighted group mean, strictly on-policy",
    paper="Hao et al. 2025, OPO, arXiv 2505.23585",
    formula=r"A_i = R_i - \frac{\sum_j l_j R_j}{\sum_j l_j}, \quad l = \text{length} \\ "
    r"L = -A \log \pi",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(normalise=p.NoNormalisation(), weights="token"),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.SeqMeanTokenSum()),
    optim=p.OptimConfig(lr=1e-3),
)
