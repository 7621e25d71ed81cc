"""GRPO: outcome minus group mean, over the group's deviation (DeepSeekMath, arXiv 2402.03300).

In self-play the group is all plays of one start state, both seats pooled: the naive baseline
that agent-wise methods are compared with. Its KL term is off, as in current practice; `kl` is a
variant. `tis` and `mis` correct for a sampler whose numerics differ from the trainer's: its
log-probabilities are recomputed, and their ratio is truncated at 2 or masked outside 0.5 to 5.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="grpo",
    summary="group-relative outcome, one baseline for both seats",
    paper="Shao et al. 2024, DeepSeekMath, arXiv 2402.03300",
    formula=r"A_i = \frac{R_i - \mean_g R}{\std_g R + \epsilon} \quad \text{(ddof 1)}",
    status="vectors",
    reproductions=("tis_cosine",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(
        credit=p.Outcome(), baseline=p.GroupMean(), normalise=p.GroupStd(), eps=1e-6
    ),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.SeqMeanTokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "loss.regularise": p.Published(
            "kl(kind=k3, coef=0.04)", "paper", "current TRL default is 0; see variant kl"
        ),
        "optim.lr": p.Published(1e-6, "paper", "small model"),
        "collect.group_size": p.Published(64, "paper", "small games have few starts"),
    },
    variants={
        "kl": {"loss.regularise": (p.Kl(kind="k3", coef=0.04),)},
        "tis": {"loss.is_correction": p.TokenTis(cap=2.0)},
        "mis": {"loss.is_correction": p.TokenMis(lo=0.5, hi=5.0)},
        "magnet": {"loss.regularise": (p.MagnetKl(coef=0.5),), "magnet": p.EmaMagnet(decay=0.99)},
    },
)
