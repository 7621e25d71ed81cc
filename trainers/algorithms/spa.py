"""SPA-RL: an outcome is spread over turns by a learned estimate of progress (arXiv 2505.20732).

A reward module learns c_t such that the c_t of a play add up to its outcome, and pays r_t = c_t +
0.5 g_t, g_t = 1 if the reply was carried out. These rewards take the place of the payoff (weight
0), and PPO over tokens carries them back.

Not copied from the released scripts: one overwrites every c_t by the centred outcome, and the
trainer multiplies the reward of turn t by T - 1 - t, so that the last turn earns nothing. The
estimate is a ridge regression on hashed words here, not a linear head on the policy's hidden
state, which reward modules do not see; see `envs/rewards/progress.py`.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="spa",
    summary="PPO on turn rewards that a learned estimate of progress pays",
    paper="Wang et al. 2025, SPA-RL, arXiv 2505.20732",
    formula=r"r_t = c_t + 0.5 \, g_t, \quad c = \argmin_c (\sum_t c_t - R)^2",
    status="vectors",
    rewards=(p.Progress(grounding=0.5, failed="Nothing happens"),),
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(
        reward_weights={"payoff": 0.0},
        credit=p.Gae(level="token", gamma=1.0, lam=0.95),
        baseline=p.BatchMean(),
        normalise=p.TokenStd(),
    ),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    critic=p.ValueCritic(),
    optim=p.OptimConfig(lr=5e-4, epochs=2, minibatches=2),
    published={
        "rewards.progress.grounding": p.Published(0.5, "paper"),
        "rewards.progress.failed": p.Published("Nothing happens", "paper, ALFWorld"),
    },
)
