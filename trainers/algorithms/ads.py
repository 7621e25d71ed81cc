"""ADS: look further ahead as early milestones are reached (arXiv 2310.07433).

A reward k turns ahead weighs alpha. k starts at a fifth of the horizon and grows, at most five
turns per batch, while plays reach nine tenths of an expert's milestones within k turns. Late
rewards that mislead are not seen before the way to them is learnt.

The source scores images against demonstrations (longest increasing subsequence of nearest expert
frames); the version for text counts what the component `milestones` pays, 1 for each one reached in
order. Here a legal reply is one, which every game has; a task with real ones names its own
component. Everything else is REINFORCE.
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="ads",
    summary="REINFORCE whose discount grows with the milestones that are reached",
    paper="Liu et al. 2023, Automatic Discount Scheduling, arXiv 2310.07433",
    formula=r"Y_t = r_t + \gamma_k Y_{t+1}, \quad \gamma_k = \alpha^{1/k}, \quad k \leftarrow k "
    r"+ 1 \text{ while milestones are met}",
    status="vectors",
    rewards=(p.Format(legal=1.0),),
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(
        reward_weights={"format": 0.05},
        credit=p.Ads(milestones="format", alpha=0.2, horizon=20, start=0.2, share=0.9, most=5),
        baseline=p.BatchMean(),
        normalise=p.NoNormalisation(),
    ),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.SeqMeanTokenSum()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.credit.alpha": p.Published(0.2, CODE),
        "advantage.credit.start": p.Published(0.2, CODE),
        "advantage.credit.share": p.Published(0.9, CODE),
        "advantage.credit.most": p.Published(5, CODE),
    },
)
