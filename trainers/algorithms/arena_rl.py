"""ArenaRL: the places of replies in a seeded knock-out are their rewards (arXiv 2601.06487).

All replies to a task are compared with the first one, which seeds them, and then meet in a
knock-out: 2 N - 2 comparisons instead of N (N - 1) / 2. The place is the reward, its z-score in the
group the advantage. Places are relative, so replies that are equal would still be ranked: here
equal answers share a place, and where the judge has no preference at all every place is equal.

The judge gives points to both of two answers, always in both orders. Best seeds rest where the
table is not full; the released code drops slots. Left out: Swiss and double elimination, and the
weight of the path of a reply beside its answer. That a knock-out is as exact as all pairs holds for
exact judges only (claim `arena_places`).
"""

from coevo.trainers import parts as p

CODE = "released code, Alibaba-NLP/qqr"

ALGORITHM = p.Algorithm(
    name="arena_rl",
    summary="GRPO on places in a knock-out of the replies to a task",
    paper="Zhang et al. 2026, ArenaRL, arXiv 2601.06487",
    formula=r"r_i = 1 - \frac{\rank_i}{N - 1}, \quad A_i = \frac{r_i - \mean r}{\std r + \epsilon}",
    status="toy",
    reproductions=("arena_places",),
    rewards=(p.Tournament(),),
    judges={"judge": p.JudgeRole(learns=False)},
    collect=p.CollectConfig(episodes=256, group_size=16, component="tournament"),
    advantage=p.AdvantageConfig(reward_weights={"payoff": 0.0}),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.28)),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "collect.group_size": p.Published(16, CODE),
        "collect.episodes": p.Published("16 prompts x 16", CODE),
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
    },
    variants={
        "anchor": {"rewards": (p.Tournament(bracket="anchor"),)},
        "round_robin": {"rewards": (p.Tournament(bracket="round_robin"),)},
    },
)
