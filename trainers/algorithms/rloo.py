"""RLOO: every play is compared with the other plays of its group (arXiv 2402.14740).

The leave-one-out mean does not depend on the play itself, so the gradient is unbiased; the
group mean of GRPO shrinks it by (G-1)/G.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="rloo",
    summary="outcome minus the mean of the other plays of its group",
    paper="Ahmadian et al. 2024, arXiv 2402.14740",
    formula="A_i = R_i - mean of R_j over j != i of the group; loss = -A log pi",
    status="checked",
    checks=("rloo_unbiased",),
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"), center=option("group_loo"), scale=option("none")
    ),
    loss=LossSpec(kind=option("pg"), aggregate=option("seq_mean_token_sum")),
    optim=OptimSpec(lr=1e-3),
    published={
        "advantage.kl_in_reward": Published(
            value=0.03, source="paper", why="a weak start policy is no anchor worth keeping"
        ),
        "sampler.group_size": Published(value="2 or 4", source="paper"),
    },
)
