"""Dr. MAS: mean and deviation of a group per agent, not over all agents (arXiv 2602.08847).

Groups are start times agent, and every reply of an agent is one observation: who is called more
often in a play weighs more. Pooled statistics give agent k advantages of mean square
(sigma_k^2 + (mu_k - mu)^2) / sigma^2, so that agents on different reward scales learn at different
rates; the variant `pooled` is that baseline.

Where all agents share one reward it differs from pooled statistics only by penalties and numbers
of calls. The penalty of the released code for invalid actions (0.1 or 0.01) is the environment's
`illegal` policy here.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

CODE = "released code"

ALGORITHM = Algorithm(
    name="dr_mas",
    summary="GRPO with mean and deviation per start and agent",
    paper="Feng et al. 2026, Dr. MAS, arXiv 2602.08847",
    formula="A = (R - mean) / (std + eps) over the replies of one agent to one start",
    status="checked",
    checks=("agent_norm",),
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"),
        center=option("group", by="group+agent"),
        scale=option("group_std", by="group+agent"),
        weights="turn",
        eps=1e-6,
    ),
    loss=LossSpec(kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("token_mean")),
    optim=OptimSpec(lr=1e-3),
    published={
        "optim.lr": Published(value=1e-6, source=CODE, why=SMALL),
        "sampler.episodes": Published(value="32 or 128 prompts", source=CODE, why=CHEAP),
        "sampler.group_size": Published(value="8 (mathematics), 5 (search)", source=CODE),
    },
    variants={
        "pooled": {"advantage.center.by": "group", "advantage.scale.by": "group"},
        "trajectory": {"advantage.weights": "row"},
    },
)
