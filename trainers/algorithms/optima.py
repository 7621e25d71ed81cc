"""Optima: generate, rank, select, train; terse teams that are right (arXiv 2410.08115).

A task is played several times; an episode is worth R = R_task - lambda tokens, each component with
its weight. iSFT (the default) imitates the best episode of every task that is worth more than
theta, the better 70 % of them; iDPO (`dpo`) learns from the best and the worst of a task, with
imitation of the best beside it; `hybrid` alternates the two. Both seats share their weights. Where
R ranks an episode by how readable it is as well, a reward module of that kind joins `rewards`.
Variants of ours take other losses: `ipo` and `simpo` for pairs, and `unlikelihood` and
`adversarial`, which imitate the best and avoid what was worth less than 0.

Left out: the tree search whose siblings make pairs (here whole plays of a task do), the term
1 / (loss under the start model), the pool of formats of the first iteration, and starting again
from the base model in debates.
"""

from coevo.trainers import parts as p

PAPER = "paper and released code"
SELECT = p.MakeItems(to=p.Best(above=0.6, keep=0.7))
COMPARE = p.MakeItems(to=p.Pairs(margin=0.2, keep=0.5))
IMITATE = p.Update(losses=(p.Sft(),))
PREFER = p.Update(losses=(p.Rpo(beta=0.1, eta=1.0, per="token"),))
ALTERNATE = (
    p.Collect(),
    p.BuildBatch(),
    SELECT,
    COMPARE,
    p.Every(updates=2, first=0, step=IMITATE),
    p.Every(updates=2, first=1, step=PREFER),
    p.FitRewards(),
)


def _pairs(loss: p.Ipo | p.Rpo | p.Simpo) -> tuple[p.AnyStep, ...]:
    learn = p.Update(losses=(loss,))
    return (p.Collect(), p.BuildBatch(), COMPARE, learn, p.FitRewards())


def _failures(loss: p.Adversarial | p.Unlikelihood) -> tuple[p.AnyStep, ...]:
    avoid = p.MakeItems(to=p.Worst())
    learn = p.Update(losses=(p.Sft(), loss))
    return (p.Collect(), p.BuildBatch(), SELECT, avoid, learn, p.FitRewards())


ALGORITHM = p.Algorithm(
    name="optima",
    summary="the best plays of a task, right and short, are imitated or preferred",
    paper="Chen et al. 2024, Optima, arXiv 2410.08115",
    formula=r"R = R_\task - \lambda \cdot \text{tokens} \\ L = -\log \pi(\argmax R) \text{ if } "
    r"R > \theta, \quad \text{or} \quad L_\DPO + \alpha L_\NLL",
    status="table",
    shows="which of three listed forms of a message is learnt; no text is written",
    reproductions=("optima_codes",),
    cycle=(p.Collect(), p.BuildBatch(), SELECT, IMITATE, p.FitRewards()),
    rewards=(p.TokenCost(cost=0.6, payer="team"),),
    collect=p.CollectConfig(episodes=320, group_size=10),
    optim=p.OptimConfig(lr=1e-4, epochs=2),
    published={
        "collect.group_size": p.Published("10; 24 by tree search for pairs", PAPER),
        "collect.episodes": p.Published("all tasks", PAPER, p.CHEAP),
        "optim.lr": p.Published("2e-5 (SFT), 5e-7 (DPO)", PAPER, p.SMALL),
        "optim.epochs": p.Published("1 to 4", PAPER),
    },
    variants={
        "dpo": {"cycle": _pairs(p.Rpo(beta=0.1, eta=1.0, per="token"))},
        "hybrid": {"cycle": ALTERNATE},
        "ipo": {"cycle": _pairs(p.Ipo(per="token"))},
        "simpo": {"cycle": _pairs(p.Simpo())},
        "unlikelihood": {"cycle": _failures(p.Unlikelihood())},
        "adversarial": {"cycle": _failures(p.Adversarial(per="token"))},
    },
)
