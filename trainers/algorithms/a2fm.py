"""A2FM: a reply names its mode first, and groups hold forced episodes of each (2510.12838).

Some episodes of every group must begin with each of the modes instant, reasoning and agentic, the
others choose; forced segments are not learnt. A dearer mode costs where the instant episodes of the
group are right often enough. Environments must know the modes: `collect.forced.first` and
`rewards.mode_cost.modes` name them, the cheapest first.

Inferred: the condition and the costs of the reward are ours. Left out: the supervised training of
the router before.
"""

from coevo.trainers import parts as p

MODES = ("instant", "reasoning", "agentic")

ALGORITHM = p.Algorithm(
    name="a2fm",
    summary="GRPO that learns when the cheap way to answer does",
    paper="Chen et al. 2025, A2FM, arXiv 2510.12838",
    formula=r"R = \text{right} - c_m \, 1[\text{instant is right in at least } \tau \text{ of the "
    r"group}]",
    status="toy",
    shows="a router as a table; the cost does it, forced episodes add nothing there",
    reproductions=("mode_router",),
    rewards=(p.ModeCost(modes=MODES),),
    collect=p.CollectConfig(episodes=512, group_size=16, forced=p.Forced(first=MODES, each=2)),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2)),
    optim=p.OptimConfig(lr=1e-3),
    published={"rewards": p.Published("a cost per mode, unknown", "page")},
    variants={
        "free": {"collect.forced": None},
        "costless": {"rewards": (), "collect.forced": None},
    },
)
