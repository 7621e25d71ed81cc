"""GPG: policy gradient with a group mean, made up for rows that teach nothing (arXiv 2504.02546).

A = (B / n)(R - group mean), n the rows whose outcome is not 0: as more groups fail throughout, the
gradient of the others is not diluted. No ratio, no clip, no KL. Where payoffs are never 0, such as
wins and losses of +-1, the factor is 1; the variant `advantage` counts rows with an advantage.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="gpg",
    summary="policy gradient with a group mean, scaled up for rows without reward",
    paper="Chu et al. 2025, GPG, arXiv 2504.02546",
    formula="A_i = (rows / rows with R != 0) (R_i - mean_group R); loss = -A logp",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"),
        center=option("group"),
        scale=option("none"),
        modify=(option("active_share", of="reward"),),
    ),
    loss=LossSpec(kind=option("pg"), aggregate=option("token_mean")),
    optim=OptimSpec(lr=1e-3),
    variants={"advantage": {"advantage.modify": "active_share(of=advantage)"}},
)
