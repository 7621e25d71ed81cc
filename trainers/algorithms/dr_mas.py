"""Dr. MAS: mean and deviation of a group per agent, not over all agents (arXiv 2602.08847).

Groups are start times agent, and every reply of an agent is one observation: who is called more
often in a play weighs more. Pooled statistics give agent k advantages of mean square
(sigma_k^2 + (mu_k - mu)^2) / sigma^2: an agent that is called mostly in unusual plays has
gradients that spike, and agents on different reward scales learn at different rates. Statistics
of its own make the factor 1. Variants: `pooled`, that baseline; `batch`, statistics per agent over
the whole batch, as the paper's listing has it, where the code and this record take them per start.

A reply that cannot be read is charged before anything is compared: in team tasks by the task
(`unread`), else by `format`; there is no bonus per legal reply, which would pay for being called.
The variant `own_penalty` charges a reply only for itself and later ones of its seat, not for
earlier ones. A group of one gives 0; the released code takes the raw reward there, which is
`--set advantage.center.single=keep --set advantage.scale.single=keep`. Agents may have settings of
their own: `--set population=separate --set optim_of.verifier_0.lr=1e-4`.
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
    checks=("agent_norm", "dr_mas_spikes", "dr_mas_seed"),
    rewards=(option("format", legal=0.0, otherwise=-0.1),),
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
        "population": Published(value="shared, or separate per agent", source=CODE),
        "rewards.format.otherwise": Published(
            value="-0.1 (mathematics), -0.01 (search)", source=CODE
        ),
        "sampler.episodes": Published(value="32 or 128 prompts", source=CODE, why=CHEAP),
        "sampler.group_size": Published(value="8 (mathematics), 5 (search)", source=CODE),
    },
    variants={
        "batch": {"advantage.center.by": "agent", "advantage.scale.by": "agent"},
        "own_penalty": {"advantage.credit": "to_go"},
        "pooled": {"advantage.center.by": "group", "advantage.scale.by": "group"},
        "trajectory": {"advantage.weights": "row"},
    },
)
