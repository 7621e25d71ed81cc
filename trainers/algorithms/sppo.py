"""SPPO: exponential weights on win rates, by regression (arXiv 2405.00675).

Five replies to a prompt are compared with each other; the log-ratio of each to the policy that drew
them is moved towards (P - 1/2) / beta. That policy is the reference of the iteration: `renew` makes
it so at the start of every update. Paper and code count a reply among those that it is compared
with (`rewards.win_rate.itself`).

Algorithm 1 learns from all replies. The released code keeps the best and the worst of a prompt, the
variant `extremes`: a biased sample of win rates, which costs the guarantee where preferences go in
a circle (`spo_minimax`).
"""

from coevo.trainers import parts as p

CODE = "released code, uclaml/SPPO"

ALGORITHM = p.Algorithm(
    name="sppo",
    summary="log-ratios are regressed on win rates, with a new reference every update",
    paper="Wu et al. 2024, SPPO, arXiv 2405.00675",
    formula=r"L = \frac{1}{2} \left( (D_w - \frac{P_w - 1/2}{\beta})^2 + (D_l - \frac{P_l - "
    r"1/2}{\beta})^2 \right), \quad D = \log (\pi / \pi_t)",
    status="toy",
    shows="the average policy is beaten by no arm, if every two replies are compared",
    reproductions=("spo_minimax",),
    cycle=(
        p.UpdateReference(),
        p.Collect(),
        p.BuildBatch(),
        p.MakeItems(to=p.Pairs(take="all", ties=True)),
        p.Update(losses=(p.Sppo(beta=0.01),)),
        p.FitRewards(),
    ),
    rewards=(p.WinRate(itself=True),),
    collect=p.CollectConfig(episodes=320, group_size=5, component="win_rate"),
    advantage=p.AdvantageConfig(reward_weights={"payoff": 0.0}),
    optim=p.OptimConfig(lr=1e-4, epochs=4),
    published={
        "collect.group_size": p.Published(5, CODE),
        "collect.episodes": p.Published("5 x 20 000", CODE, p.CHEAP),
        "optim.lr": p.Published(5e-7, CODE, p.SMALL),
        "optim.epochs": p.Published(1, CODE, "few prompts per iteration"),
    },
    variants={
        "extremes": {"cycle.make_items.to": p.Pairs()},
        "hard": {"cycle.update.losses.sppo.hard": True},
    },
)
