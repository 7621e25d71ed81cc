"""Lite PPO: group mean, deviation of the whole batch, mean over tokens (arXiv 2508.08221).

Two tricks on plain policy gradient. The deviation is that of the raw outcomes over the batch, so
that a start with nearly equal outcomes is not blown up; no critic, no KL, no mask for long
replies. The documentation page of the released code lists another block of settings (an advantage
`gae` and a mean over rows) that contradicts the paper; it is not copied.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="lite_ppo",
    summary="outcome minus group mean, over the deviation of the batch; mean over tokens",
    paper="Liu et al. 2025, Tricks or Traps, arXiv 2508.08221",
    formula="A_i = (R_i - mean_group R) / (std_batch R + eps)",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"),
        center=option("group"),
        scale=option("batch_std", of="raw"),
        eps=1e-4,
    ),
    loss=LossSpec(kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("token_mean")),
    optim=OptimSpec(lr=1e-3),
    published={
        "advantage.scale.of": Published(
            value="centred", source="ROLL's older div_std_global", why="the paper's is raw"
        ),
    },
)
