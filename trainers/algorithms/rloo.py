"""RLOO: every play is compared with the other plays of its group (arXiv 2402.14740).

The leave-one-out mean does not depend on the play itself, so the gradient is unbiased; the
group mean of GRPO shrinks it by (G-1)/G. Groups are start times seat: what a seat is asked is its
prompt. Where seats share a group (`--set advantage.baseline.by=group`) the rewards of all seats of
the own play are left out, since each of them depends on what the others did.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="rloo",
    summary="outcome minus the mean of the same seat in the other plays of its group",
    paper="Ahmadian et al. 2024, arXiv 2402.14740",
    formula=r"A_i = R_i - \frac{1}{G - 1} \sum_{j \ne i} R_j \\ L = -A \log \pi",
    status="formula",
    reproductions=("rloo_unbiased",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(
        baseline=p.LeaveOneOut(by="group+agent"), normalise=p.NoNormalisation()
    ),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.SeqMeanTokenSum()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.kl_in_reward": p.Published(
            0.03, "paper", "a weak start policy is no anchor worth keeping"
        ),
        "collect.group_size": p.Published("2 or 4", "paper"),
    },
)
