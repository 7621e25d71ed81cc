"""SPO: reinforcement learning from comparisons alone, by self-play (arXiv 2401.04056).

Episodes of one task are compared with each other, and each is paid its win rate, whose mean over a
group is 1/2: A = r - 1/2. No reward model is fitted, so that preferences may be intransitive. The
guarantee is for the average of the policies of all updates; the last one may cycle (the ema weights
of `ema` average logits, which is not the same).

Left out: the queue of earlier trajectories to compare with, whose length the paper does not give.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="spo",
    summary="win rate against the other episodes of the task, instead of a reward",
    paper="Swamy et al. 2024, SPO, arXiv 2401.04056",
    formula=r"r_i = \frac{1}{G - 1} \sum_{j \ne i} P(i \succ j), \quad A_i = r_i - \mean_g r",
    status="toy",
    shows="the average policy is beaten by no arm; the last one goes round",
    reproductions=("spo_minimax",),
    rewards=(p.WinRate(),),
    collect=p.CollectConfig(episodes=64, group_size=8, component="win_rate"),
    advantage=p.AdvantageConfig(reward_weights={"payoff": 0.0}, normalise=p.NoNormalisation()),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.SeqMeanTokenSum()),
    optim=p.OptimConfig(lr=1e-4),
    published={
        "loss": p.Published(
            "SAC and PPO",
            "paper",
            "any learner without regret; this is the plainest for language models",
        )
    },
    variants={"drawn": {"rewards": (p.WinRate(drawn=True),)}},
)
