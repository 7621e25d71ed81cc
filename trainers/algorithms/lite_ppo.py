"""Lite PPO: group mean, deviation of the whole batch, mean over tokens (arXiv 2508.08221).

Two tricks on plain policy gradient. The deviation is that of the raw outcomes over the batch, so
that a start with nearly equal outcomes is not blown up; no critic, no KL, no mask for long
replies. The documentation page of the released code lists another block of settings (an advantage
`gae` and a mean over rows) that contradicts the paper; it is not copied.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="lite_ppo",
    summary="outcome minus group mean, over the deviation of the batch; mean over tokens",
    paper="Liu et al. 2025, Tricks or Traps, arXiv 2508.08221",
    formula=r"A_i = \frac{R_i - \mean_g R}{\std_\batch R + \epsilon}",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(normalise=p.BatchStd(of="raw"), eps=1e-4),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.normalise.of": p.Published(
            "centred", "ROLL's older div_std_global", "the paper's is raw"
        )
    },
)
