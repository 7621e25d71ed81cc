"""Knapsack RL: a start is played as often as it can teach (arXiv 2509.25849).

Plays are the budget, starts the items: n plays of a start with success rate p are worth (1 - p^n -
(1-p)^n) p (1-p)^2, and the next play always goes to the largest gain, which is exact because the
value is concave in n. p is that of the last visit. Advantages are GRPO's, held in [-5, 5].

Not copied: the released dynamic program values "no further play" at 0, which forces one on every
start, and what is left for hopeless starts is shared out by another rule: success rates (0, 0, .25,
.5) and 32 plays give 10, 9, 8, 5 here and 9, 8, 9, 6 there. Its p is the mean of a buffer that
lasts an epoch. Groups differ in size, so that a start with more plays weighs more in the mean over
rows, as in the paper; the variant `equal_starts` undoes it.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="knapsack",
    summary="GRPO whose plays go to the starts where outcomes are likely to differ",
    paper="Li et al. 2025, Knapsack RL, arXiv 2509.25849",
    formula=r"\max_n \sum_q V(p_q, n_q), \quad \sum_q n_q = N \\ "
    r"V(p, n) = (1 - p^n - (1 - p)^n) \, p (1 - p)^2",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(
        episodes=512,
        group_size=8,
        tasks=256,
        allocate=p.Knapsack(n_min=2, n_max=128, estimate="last"),
    ),
    advantage=p.AdvantageConfig(transform=(p.ClipAdvantage(bound=5.0),)),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.28), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.transform.clip_advantage.bound": p.Published(5.0, "released code"),
        "collect.allocate.n_min": p.Published(2, "released code"),
        "collect.allocate.n_max": p.Published(128, "released code"),
        "collect.group_size": p.Published(8, "paper, mean number of plays"),
    },
    variants={
        "equal_starts": {"advantage.transform": (p.ClipAdvantage(bound=5.0), p.WeighPrompts())}
    },
)
