"""DNO: a Nash policy of general preferences by iterated regression (arXiv 2404.03715).

Every update is an iteration: replies of the policy pi_t are compared with each other, and every two
of a task teach the difference of their log-ratios to pi_t the difference of their win rates, by
cross entropy. In the optimum pi ~ pi_t exp(r / eta). This is algorithm 1; the variant `practical`
(algorithm 2) keeps the pairs with a large margin and takes DPO's loss on them.

Left out: replies of a stronger teacher among those that are compared; the loss was recalled from
the published paper. Whether a reply is among those that it is compared with could not be read; here
it is not. The last policy may cycle where preferences do; the average of all policies
does not.
"""

from coevo.trainers import parts as p

PRACTICAL = (
    p.UpdateReference(),
    p.Collect(),
    p.BuildBatch(),
    p.MakeItems(to=p.Pairs(take="extremes", margin=0.25)),
    p.Update(losses=(p.Dpo(beta=0.1),)),
    p.FitRewards(),
)

ALGORITHM = p.Algorithm(
    name="dno",
    summary="differences of log-ratios are regressed on differences of win rates",
    paper="Rosset et al. 2024, DNO, arXiv 2404.03715",
    formula=r"L = -p \log \sigma(d) - (1 - p) \log \sigma(-d), \quad d = \eta (D_1 - D_2) \\ "
    r"D = \log (\pi / \pi_t), \quad p = \sigma(r_1 - r_2)",
    status="toy",
    shows="each policy is preferred to the one before; the last one is no better at worst",
    reproductions=("dno_monotone",),
    cycle=(
        p.UpdateReference(),
        p.Collect(),
        p.BuildBatch(),
        p.MakeItems(to=p.Pairs(take="all", ties=True)),
        p.Update(losses=(p.Dno(eta=0.5),)),
        p.FitRewards(),
    ),
    rewards=(p.WinRate(),),
    collect=p.CollectConfig(episodes=320, group_size=5, component="win_rate"),
    advantage=p.AdvantageConfig(reward_weights={"payoff": 0.0}),
    optim=p.OptimConfig(lr=1e-4, epochs=4),
    published={
        "collect.group_size": p.Published("5, and 1 of a teacher", "paper"),
        "collect.episodes": p.Published("about 100 000 prompts", "paper", p.CHEAP),
    },
    variants={"practical": {"cycle": PRACTICAL}},
)
