"""Tree-GRPO: plays are compared in their group and in their tree (arXiv 2509.21240).

A tree is the plays of one start in which a seat made the same first move.

Left out: growing trees while sampling, where branches share the tokens of their common beginning
and the budget is spent on expanding nodes; here plays are sampled one by one and the trees are
found in them. A tree of one leaf adds 0; in AMAP-ML/Tree-GRPO@90b1709 it adds its raw reward.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="tree_grpo",
    summary="GRPO over all plays of a start plus GRPO over those with the same beginning",
    paper="Ji et al. 2025, Tree-GRPO, arXiv 2509.21240",
    formula=r"A = \frac{R - \mean_g R}{\std_g R} + \frac{R - \mean_\tree R}{\std_\tree R}",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(transform=(p.AddTree(w=1.0, std=True),)),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
)
