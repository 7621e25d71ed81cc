"""MasHost: a policy builds the team that answers a question; each action has its price.

The policy adds agents of listed roles and connects them, until it lets the team answer. Teams that
answered the same question are compared by whether they were right; and what an action costs, such
as an agent that is not needed, is added to the advantage of that action alone:
A_t = z_group(R) + c_t. In the first updates nothing costs (`exempt`), so that good teams are found
before they get small. Play it on `coevo/graph_builder-v0` with `apart=True`, where an agent costs
its price and a second one of its role the double.

Inferred: the formula of HRPO, its hierarchical relative policy optimisation, could not be read, and
no code is out. This sum stands in for it. `free` is the control, in which
nothing ever costs; `summed` compares teams by what they earn less what they cost, as GRPO does.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="mashost",
    summary="teams are built and compared by right answers; every action pays its own price",
    paper="Yang et al. 2025, MasHost, arXiv 2506.08507",
    formula=r"A_t = \frac{R - \mean R}{\std R + \epsilon} + w c_t, \quad w = 0 \text{ at first}",
    status="inferred",
    shows="small teams where the outcome does not say how many; as small with costs in the outcome",
    reproductions=("mashost_size",),
    usage="--env coevo/graph_builder-v0 --env-option apart=true --set sampling.guided=choice",
    collect=p.CollectConfig(episodes=256, group_size=8),
    advantage=p.AdvantageConfig(
        reward_weights={"cost": 0.0},
        transform=(p.AddTurnReward(of="cost", w=0.0),),
    ),
    schedules={"advantage.transform.add_turn_reward.w": p.Steps(values=(1.0,), every=200)},
    optim=p.OptimConfig(lr=1e-3),
    variants={
        "free": {"advantage.transform": (), "schedules": {}},
        "summed": {
            "advantage.transform": (),
            "advantage.reward_weights": {},
            "schedules": {},
        },
    },
)
