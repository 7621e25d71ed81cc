"""OPMD: policy gradient with a squared log-ratio that keeps the policy near (arXiv 2509.24203).

Mirror descent whose step ends near pi_old exp(r / tau). Trinity absorbs the half of the square;
`kimi` writes tau / 2, as Kimi k1.5 and ROLL do; `scaled` is Trinity's first form, -A logp / (1 +
tau). `log_mean_exp` takes the baseline tau log mean exp(R / tau), which tends to the mean for a
large tau, to the maximum for a small one.

The square has no gradient on the first step after sampling, hence the two mini-batches.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="opmd",
    summary="policy gradient with a squared log-ratio to the sampling policy (REP-OPMD)",
    paper="Yao et al. 2025, Group-Relative REINFORCE, arXiv 2509.24203",
    formula=r"L = -A \log \pi + \tau (\log \pi - \log \pi_\old)^2, \quad A_i = R_i - \mean_g R",
    status="formula",
    reproductions=("offline_bandit",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(normalise=p.NoNormalisation()),
    loss=p.LossConfig(surrogate=p.Opmd(tau=0.1, form="square"), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3, minibatches=2),
    published={
        "loss.surrogate.tau": p.Published(0.1, "released code (Trinity-RFT)"),
        "optim.lr": p.Published(1e-6, "released code", p.SMALL),
        "collect.episodes": p.Published(96, "released code", p.CHEAP),
        "collect.group_size": p.Published(8, "released code"),
    },
    variants={
        "kimi": {"loss.surrogate.form": "half"},
        "scaled": {"loss.surrogate.form": "scaled"},
        "log_mean_exp": {"advantage.baseline": p.LogMeanExp(tau=1.0)},
    },
)
