"""GiGPO: turns that saw the same state are compared as well (arXiv 2505.10978).

A = A_episode + w A_step. The episode part is the outcome minus its group's mean; the step part is
the discounted return of a turn minus the mean over all visits of that state in the group, a state
seen once giving 0. No critic. The variant `std` divides both by deviations.

States are equal where a seat saw the same chat. Left out: the similarity of texts by which the
released code joins states that nearly agree. Stochastic games blur the step groups: one state of
Kuhn poker stands for two cards of the other player.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

CODE = "released code"

ALGORITHM = Algorithm(
    name="gigpo",
    summary="group-relative outcomes plus returns compared at equal states",
    paper="Feng et al. 2025, GiGPO, arXiv 2505.10978",
    formula="A = (R - mean_group R) + w (Y_t - mean of Y over visits of the state), Y discounted",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"),
        center=option("group"),
        scale=option("none"),
        modify=(option("add_state_group", w=1.0, gamma=0.95, mode="mean_norm"),),
    ),
    loss=LossSpec(kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("token_mean")),
    optim=OptimSpec(lr=1e-3),
    published={
        "advantage.modify.add_state_group.w": Published(value=1.0, source=CODE),
        "advantage.modify.add_state_group.gamma": Published(value=0.95, source=CODE),
        "advantage.modify.add_state_group.mode": Published(value="mean_norm", source=CODE),
    },
    variants={
        "std": {
            "advantage.scale": "group_std",
            "advantage.modify.add_state_group.mode": "mean_std_norm",
        }
    },
)
