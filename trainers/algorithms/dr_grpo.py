"""Dr. GRPO: GRPO without its two biases (arXiv 2503.20783).

No deviation, which inflates very easy and very hard starts, and a constant divisor, rows times
the longest reply, in the place of each row's own length, which favours short right and long
wrong answers. The longest reply is `sampling.max_new_tokens`, never a padded width; verl's
variant of the divisor forgets the rows (`sum_norm`). No KL.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="dr_grpo",
    summary="GRPO without deviation and without a length in the divisor",
    paper="Liu et al. 2025, Understanding R1-Zero, arXiv 2503.20783",
    formula=r"A_i = R_i - \mean_g R \\ L = \frac{1}{B \, T_{\max}} \sum_{i,t} L_{i,t}, \quad "
    r"T_{\max} = \text{longest reply}",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(normalise=p.NoNormalisation()),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.ConstantMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "optim.lr": p.Published(1e-6, "released code", p.SMALL),
        "collect.episodes": p.Published("128 prompts", "released code", p.CHEAP),
    },
    variants={"verl": {"loss.aggregate": p.SumNorm()}},
)
