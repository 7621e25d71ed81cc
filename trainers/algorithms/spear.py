"""SPEAR: successes come back, measured against what is normal now (arXiv 2509.22601).

Plays with A > 0 are stored. When there are one and a half times as many as `capacity`, all leave
the buffer: A = R - median of the means of recent groups, those with A >= 0 are learnt from once,
in a pass of their own whose weight grows by a cosine over `horizon` updates. Its loss silences
tokens of high covariance (Clip-Cov, ratio 0.02) and compares with the policy that sampled them.

Not copied: the released code builds the micro-batches of that pass from the on-policy batch.
Left out: the bonus for tool calls that fades by a cosine, since games have no tools.
The inner algorithm is GRPO; any other record takes `sampler.replay=spear` as well.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

CODE = "released code"

ALGORITHM = Algorithm(
    name="spear",
    summary="GRPO that imitates its own earlier successes in growing extra passes",
    paper="Qin et al. 2025, SPEAR, arXiv 2509.22601",
    formula="GRPO + w(step) * clip_cov loss on stored plays, A = R - median of group means >= 0",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(
        episodes=512,
        group_size=8,
        replay=option("spear", capacity=1024, older=5, coef=1.0, horizon=200),
    ),
    advantage=AdvantageSpec(
        credit=option("outcome"), center=option("group"), scale=option("group_std"), eps=1e-6
    ),
    loss=LossSpec(kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("token_mean")),
    replay_loss=LossSpec(
        kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2),
        anchor="roll",
        gates=(option("clip_cov", ratio=0.02, lb=1.0, ub=40.0, eps_lo=0.2, eps_hi=0.2),),
        aggregate=option("token_mean"),
    ),
    optim=OptimSpec(lr=1e-3),
    published={
        "sampler.replay.capacity": Published(
            value=2048, source=CODE, why="a pass every few updates of 512 plays"
        ),
        "sampler.replay.older": Published(value="5, at most 10", source=CODE),
        "sampler.replay.horizon": Published(value="100 to 300", source=CODE),
        "replay_loss.gates.clip_cov.lb": Published(value="1 to 2", source=CODE),
        "replay_loss.gates.clip_cov.ub": Published(value="40 to 60", source=CODE),
    },
)
