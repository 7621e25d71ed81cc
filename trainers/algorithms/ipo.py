"""IPO: the gap of two replies is regressed on a fixed number (arXiv 2310.12036).

DPO pushes a preferred reply without end where labels never contradict each other; here the gap of
the log-ratios aims at 1 / (2 beta) and no further. The start policy is the reference. Pairs are the
best and the worst of the replies of the policy, where the source has a fixed data set.

The paper sums over the tokens of a reply. `token` takes their mean, as TRL does.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="ipo",
    summary="the gap of log-ratios of two replies is regressed on 1 / (2 beta)",
    paper="Azar et al. 2023, IPO, arXiv 2310.12036",
    formula=r"L = (D_w - D_l - \frac{1}{2 \beta})^2, \quad D = \log (\pi / \pi_\ref)",
    status="vectors",
    cycle=(
        p.Collect(),
        p.BuildBatch(),
        p.MakeItems(to=p.Pairs()),
        p.Update(losses=(p.Ipo(beta=0.1),)),
        p.FitRewards(),
    ),
    collect=p.CollectConfig(episodes=256, group_size=4),
    optim=p.OptimConfig(lr=1e-4),
    variants={"token": {"cycle.update.losses.ipo.per": "token"}},
)
