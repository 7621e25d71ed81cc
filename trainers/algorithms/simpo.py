"""SimPO: the mean log-probability of a reply is its reward, without a reference (arXiv 2405.14734).

The preferred reply is to be likelier per token than the other, by a margin. Long replies gain
nothing by their length, and no second model is in memory. Pairs are the best and the worst of the
replies of the policy, drawn anew in every update; the source draws them once from the start model.
"""

from coevo.trainers import parts as p

PAPER = "paper, section 3; tuned for each model"

ALGORITHM = p.Algorithm(
    name="simpo",
    summary="preference optimisation on mean log-probabilities with a margin; no reference",
    paper="Meng et al. 2024, SimPO, arXiv 2405.14734",
    formula=r"L = -\log \sigma(\frac{\beta}{|w|} \log \pi(w) - \frac{\beta}{|l|} \log \pi(l) - "
    r"\gamma)",
    status="vectors",
    cycle=(
        p.Collect(),
        p.BuildBatch(),
        p.MakeItems(to=p.Pairs()),
        p.Update(losses=(p.Simpo(),)),
        p.FitRewards(),
    ),
    collect=p.CollectConfig(episodes=256, group_size=4),
    optim=p.OptimConfig(lr=1e-4),
    published={
        "cycle.update.losses.simpo.beta": p.Published("2.0 to 2.5", PAPER),
        "cycle.update.losses.simpo.margin": p.Published("0.5 to 1.6", PAPER),
        "collect.group_size": p.Published("5", PAPER, "extremes of four are as far apart"),
    },
)
