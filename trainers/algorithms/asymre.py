"""AsymRE: a baseline below the group mean, which leans on good plays (arXiv 2506.20520).

A = R - (mean - beta). On plays of another policy a lower baseline imitates what went well more
than it flees what went badly. The same loss is -A logp - beta logp (variant `nll`, REP-AsymRE).
Groups of equal rewards teach too: their plays get +beta.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="asymre",
    summary="policy gradient with a baseline beta below the group mean (REP-AsymRE)",
    paper="Arnal et al. 2025, AsymRE, arXiv 2506.20520",
    formula="A_i = R_i - mean_group R + beta; loss = -A logp",
    status="checked",
    checks=("offline_bandit",),
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"),
        center=option("group"),
        scale=option("none"),
        modify=(option("shift", beta=0.1),),
    ),
    loss=LossSpec(kind=option("pg"), aggregate=option("token_mean")),
    optim=OptimSpec(lr=1e-3),
    published={
        "advantage.modify.shift.beta": Published(value=0.1, source="Trinity-RFT (2509.24203)"),
        "optim.lr": Published(value=1e-6, source="Trinity-RFT", why=SMALL),
        "sampler.episodes": Published(value=96, source="Trinity-RFT", why=CHEAP),
    },
    variants={"nll": {"advantage.modify": "none", "loss.regularise": "nll(coef=0.1)"}},
)
