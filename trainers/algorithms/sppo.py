"""SPPO: exponential weights on win rates, by regression (arXiv 2405.00675).

Five replies to a prompt are compared with each other; the log-ratio of each to the policy that drew
them is moved towards (P - 1/2) / beta. That policy is the reference of the iteration: `renew` makes
it so at the start of every update.

Algorithm 1 learns from all replies. The released code keeps the best and the worst of a prompt, the
variant `extremes`: a biased sample of win rates, which costs the guarantee where preferences go in
a circle (`spo_minimax`).
"""

from coevo.envs.rewards import WinRate
from coevo.trainers.algorithm import Algorithm, CollectConfig, OptimConfig, Published
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import AdvantageConfig
from coevo.trainers.losses import Sppo
from coevo.trainers.steps import (
    BuildBatch,
    Collect,
    FitRewards,
    MakeItems,
    Pairs,
    Update,
    UpdateReference,
)

CODE = "released code, uclaml/SPPO"

ALGORITHM = Algorithm(
    name="sppo",
    summary="log-ratios are regressed on win rates, with a new reference every update",
    paper="Wu et al. 2024, SPPO, arXiv 2405.00675",
    formula=r"L = \frac{1}{2} \left( (D_w - \frac{P_w - 1/2}{\beta})^2 + (D_l - \frac{P_l - "
    r"1/2}{\beta})^2 \right), \quad D = \log (\pi / \pi_t)",
    status="toy",
    shows="the average policy is beaten by no arm, if every two replies are compared",
    reproductions=("spo_minimax",),
    cycle=(
        UpdateReference(),
        Collect(),
        BuildBatch(),
        MakeItems(to=Pairs(take="all", ties=True)),
        Update(losses=(Sppo(beta=0.01),)),
        FitRewards(),
    ),
    rewards=(WinRate(),),
    collect=CollectConfig(episodes=320, group_size=5, component="win_rate"),
    advantage=AdvantageConfig(reward_weights={"payoff": 0.0}),
    optim=OptimConfig(lr=1e-4, epochs=4),
    published={
        "collect.group_size": Published(value=5, source=CODE),
        "collect.episodes": Published(value="5 x 20 000", source=CODE, why=CHEAP),
        "optim.lr": Published(value=5e-7, source=CODE, why=SMALL),
        "optim.epochs": Published(value=1, source=CODE, why="few prompts per iteration"),
    },
    variants={
        "extremes": {"cycle.make_items.to": Pairs()},
        "hard": {"cycle.update.losses.sppo.hard": True},
    },
)
