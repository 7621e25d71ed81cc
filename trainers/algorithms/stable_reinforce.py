"""StableReinforce: bounded ratios and advantages without outliers (R1-Reward, 2505.02835).

REINFORCE++ with three changes: the log-ratio is limited to +-log 1000 before the exponential; the
whitened advantage is 0 beyond three deviations; the reward adds a bonus for reasoning that agrees
with a right answer, R = 0.5 f + a (1 + 0.5 c).

Not copied: the bonus, which needs a judge that compares reasoning and answer; and the released
filter, which compares the whitened value with the mean of the raw ones +-3.
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="stable_reinforce",
    summary="REINFORCE++ with limited log-ratios and without outlying advantages",
    paper="Zhang et al. 2025, R1-Reward, arXiv 2505.02835",
    formula=r"A = z \, 1[|z| \le 3], \quad z = \whiten_\tokens Y \\ "
    r"s = \exp(\clip(\log \pi - \log \pi_\old, -\log 1000, \log 1000))",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(
        credit=p.ToGo(gamma=1.0, level="token"),
        baseline=p.BatchMean(),
        normalise=p.TokenStd(),
        transform=(p.FilterSigma(sigma=3.0),),
        kl_in_reward=0.001,
    ),
    loss=p.LossConfig(surrogate=p.Preclip(eps_lo=0.2, eps_hi=0.2, bound=1000.0)),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.kl_in_reward": p.Published(1e-3, CODE),
        "advantage.compose": p.Published(
            "consistency", CODE, "needs a judge of reasoning and answer"
        ),
        "loss.surrogate.bound": p.Published(1000.0, CODE),
        "optim.lr": p.Published(3e-7, CODE, p.SMALL),
        "collect.episodes": p.Published("128 or 256", CODE),
    },
)
