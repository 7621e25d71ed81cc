"""GPG: policy gradient with a group mean, made up for rows that teach nothing (arXiv 2504.02546).

As more groups agree, the gradient of the others is not diluted (AMAP-ML/GPG@e096da8). No ratio, no
clip, no KL. The variant `verl` counts the rows whose outcome is not 0 (volcengine/verl@b178a3cd5);
with the reward for legal replies, or with payoffs of +-1, these are all rows and the factor is 1.
The mean over tokens is verl's too; the authors' is a mean over replies.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="gpg",
    summary="policy gradient with a group mean, scaled up for groups that agree",
    paper="Chu et al. 2025, GPG, arXiv 2504.02546",
    formula=r"A_i = \frac{B}{n} (R_i - \mean_g R), \quad n = \text{rows of groups that differ} "
    r"\\ L = -A \log \pi",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(
        normalise=p.NoNormalisation(), transform=(p.ActiveShare(of="group"),)
    ),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    variants={"verl": {"advantage.transform": (p.ActiveShare(of="reward"),)}},
)
