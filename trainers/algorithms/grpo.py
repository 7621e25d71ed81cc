"""GRPO: outcome minus group mean, over the group's deviation (DeepSeekMath, arXiv 2402.03300).

In self-play the group is all plays of one start state, both seats pooled: the naive baseline
that agent-wise methods are compared with. Its KL term is off, as in current practice; `kl` is a
variant. `tis` and `mis` correct for a sampler whose numerics differ from the trainer's: its
log-probabilities are recomputed, and their ratio is truncated at 2 or masked outside 0.5 to 5.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="grpo",
    summary="group-relative outcome, one baseline for both seats",
    paper="Shao et al. 2024, DeepSeekMath, arXiv 2402.03300",
    formula="A_i = (R_i - mean_group R) / (std_group R + eps), ddof 1",
    status="vectors",
    checks=("tis_cosine",),
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"), center=option("group"), scale=option("group_std"), eps=1e-6
    ),
    loss=LossSpec(
        kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("seq_mean_token_mean")
    ),
    optim=OptimSpec(lr=1e-3),
    published={
        "loss.regularise": Published(
            value="kl(kind=k3, coef=0.04)",
            source="paper",
            why="current TRL default is 0; see variant kl",
        ),
        "optim.lr": Published(value=1e-6, source="paper", why="small model"),
        "sampler.group_size": Published(
            value=64, source="paper", why="small games have few starts"
        ),
    },
    variants={
        "kl": {"loss.regularise": "kl(kind=k3, coef=0.04)"},
        "tis": {"loss.correct": "token_tis(cap=2.0)"},
        "mis": {"loss.correct": "token_mis(lo=0.5, hi=5.0)"},
        "magnet": {"loss.regularise": "magnet(coef=0.5)", "magnet": "ema(decay=0.99)"},
    },
)
