"""Knapsack RL: a start is played as often as it can teach (arXiv 2509.25849).

Plays are the budget, starts the items: n plays of a start with success rate p are worth
(1 - p^n - (1-p)^n) p (1-p)^2, and the next play always goes to the largest gain, which is exact
because the value is concave in n. p is that of the last visit. Advantages are GRPO's, held in
[-5, 5].

Not copied: the released dynamic program values "no further play" at 0, which forces one on every
start. Groups differ in size, so that a start with more plays weighs more in the mean over rows,
as in the paper; the variant `equal_starts` undoes it.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import RANGE
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="knapsack",
    summary="GRPO whose plays go to the starts where outcomes are likely to differ",
    paper="Li et al. 2025, Knapsack RL, arXiv 2509.25849",
    formula="max sum_q V(p_q, n_q) with sum n_q fixed; V = (1 - p^n - (1-p)^n) p (1-p)^2",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(
        episodes=512,
        group_size=8,
        starts=256,
        allocate=option("knapsack", n_min=2, n_max=128, estimate="last"),
        low=-2.0,
        high=2.0,
    ),
    advantage=AdvantageSpec(
        credit=option("outcome"),
        center=option("group"),
        scale=option("group_std"),
        modify=(option("clip", bound=5.0),),
        eps=1e-6,
    ),
    loss=LossSpec(kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.28), aggregate=option("token_mean")),
    optim=OptimSpec(lr=1e-3),
    published={
        "advantage.modify.clip.bound": Published(value=5.0, source="released code"),
        "sampler.allocate.n_min": Published(value=2, source="released code"),
        "sampler.allocate.n_max": Published(value=128, source="released code"),
        "sampler.group_size": Published(value=8, source="paper, mean number of plays"),
        "sampler.low": Published(value=0.0, source="paper", why=RANGE),
    },
    variants={"equal_starts": {"advantage.modify": "clip(bound=5.0); weigh_prompts"}},
)
