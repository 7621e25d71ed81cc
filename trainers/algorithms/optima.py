"""Optima: generate, rank, select, train; terse teams that are right (arXiv 2410.08115).

A task is played several times; an episode is worth R = R_task - lambda tokens, each component with
its weight. iSFT (the default) imitates the best episode of every task that is worth more than
theta, the better 70 % of them; iDPO (`dpo`) learns from the best and the worst of a task, with
imitation of the best beside it; `hybrid` alternates the two. Both seats share their weights. Where
R ranks an episode by how readable it is as well, a reward module of that kind joins `rewards`.

Left out: the tree search whose siblings make pairs (here whole plays of a task do), the term
1 / (loss under the start model), the pool of formats of the first iteration, and starting again
from the base model in debates.
"""

from coevo.envs.rewards import TokenCost
from coevo.trainers.algorithm import Algorithm, CollectConfig, OptimConfig, Published
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.losses import Rpo, Sft
from coevo.trainers.steps import (
    Best,
    BuildBatch,
    Collect,
    Every,
    FitRewards,
    MakeItems,
    Pairs,
    Update,
)

PAPER = "paper and released code"
SELECT = MakeItems(to=Best(above=0.6, keep=0.7))
COMPARE = MakeItems(to=Pairs(margin=0.2, keep=0.5))
IMITATE = Update(losses=(Sft(),))
PREFER = Update(losses=(Rpo(beta=0.1, eta=1.0, per="token"),))
ALTERNATE = (
    Collect(),
    BuildBatch(),
    SELECT,
    COMPARE,
    Every(updates=2, first=0, step=IMITATE),
    Every(updates=2, first=1, step=PREFER),
    FitRewards(),
)

ALGORITHM = Algorithm(
    name="optima",
    summary="the best plays of a task, right and short, are imitated or preferred",
    paper="Chen et al. 2024, Optima, arXiv 2410.08115",
    formula=r"R = R_\task - \lambda \cdot \text{tokens} \\ L = -\log \pi(\argmax R) \text{ if } "
    r"R > \theta, \quad \text{or} \quad L_\DPO + \alpha L_\NLL",
    status="toy",
    shows="which of three listed forms of a message is learnt; no text is written",
    reproductions=("optima_codes",),
    cycle=(Collect(), BuildBatch(), SELECT, IMITATE, FitRewards()),
    rewards=(TokenCost(cost=0.6, payer="team"),),
    collect=CollectConfig(episodes=320, group_size=10),
    optim=OptimConfig(lr=1e-4, epochs=2),
    published={
        "collect.group_size": Published(value="10; 24 by tree search for pairs", source=PAPER),
        "collect.episodes": Published(value="all tasks", source=PAPER, why=CHEAP),
        "optim.lr": Published(value="2e-5 (SFT), 5e-7 (DPO)", source=PAPER, why=SMALL),
        "optim.epochs": Published(value="1 to 4", source=PAPER),
    },
    variants={
        "dpo": {"cycle": (Collect(), BuildBatch(), COMPARE, PREFER, FitRewards())},
        "hybrid": {"cycle": ALTERNATE},
    },
)
