"""ReMax: the baseline is what a greedy play of the same start earns (arXiv 2310.10505).

The baseline does not depend on what was sampled, so the gradient is unbiased, and no group is
needed. In self-play both seats of the greedy play are greedy; each seat is compared with its own
seat there. The greedy plays count as sampled tokens. The KL of the paper is charged in the reward:
`--set advantage.kl_in_reward=0.01`.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="remax",
    summary="outcome minus that of a greedy play of the same start",
    paper="Li et al. 2023, ReMax, arXiv 2310.10505",
    formula=r"A_i = R_i - R_\greedy \\ L = -A \log \pi",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(baseline=p.GreedyBaseline(), normalise=p.NoNormalisation()),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.SeqMeanTokenSum()),
    optim=p.OptimConfig(lr=1e-3),
)
