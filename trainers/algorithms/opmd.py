"""OPMD: policy gradient with a squared log-ratio that keeps the policy near (arXiv 2509.24203).

Loss -A logp + tau (logp - logp_old)^2, A = R - group mean: mirror descent whose step ends near
pi_old exp(r / tau). Trinity absorbs the half of the square; `kimi` writes tau / 2, as Kimi k1.5
and ROLL do; `scaled` is Trinity's first form, -A logp / (1 + tau). `logavgexp` takes the baseline
tau log mean exp(R / tau), which tends to the mean for a large tau, to the maximum for a small one.

The square has no gradient on the first step after sampling, hence the two mini-batches.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="opmd",
    summary="policy gradient with a squared log-ratio to the sampling policy (REP-OPMD)",
    paper="Yao et al. 2025, Group-Relative REINFORCE, arXiv 2509.24203",
    formula="loss = -A logp + tau (logp - logp_old)^2, A_i = R_i - mean_group R",
    status="checked",
    checks=("offline_bandit",),
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(credit=option("outcome"), center=option("group"), scale=option("none")),
    loss=LossSpec(kind=option("opmd", tau=0.1, form="square"), aggregate=option("token_mean")),
    optim=OptimSpec(lr=1e-3, minibatches=2),
    published={
        "loss.kind.tau": Published(value=0.1, source="released code (Trinity-RFT)"),
        "optim.lr": Published(value=1e-6, source="released code", why=SMALL),
        "sampler.episodes": Published(value=96, source="released code", why=CHEAP),
        "sampler.group_size": Published(value=8, source="released code"),
    },
    variants={
        "kimi": {"loss.kind.form": "half"},
        "scaled": {"loss.kind.form": "scaled"},
        "logavgexp": {"advantage.center": "logavgexp(tau=1.0)"},
    },
)
