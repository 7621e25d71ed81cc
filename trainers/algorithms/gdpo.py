"""GDPO: every reward normalised in its group, added, then normalised over the batch (2601.05242).

A_k = (R_k - mean_group) / (std_group + eps); S = sum_k w_k A_k; A = (S - mean_batch) / (std_batch
+ eps). On the sum of rewards GRPO gives different combinations one advantage; apart they keep
theirs. Rows are counted in the batch's statistics, as in the TRL variant; the verl variant of the
repository counts tokens (variant `tokens`), and both skip this step for a single reward.

A reward that hardly varies is divided by its tiny deviation and becomes loud.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="gdpo",
    summary="GRPO for several rewards, each normalised apart before they are added",
    paper="Liu et al. 2026, GDPO, arXiv 2601.05242",
    formula="A = whiten_batch(sum_k w_k (R_k - mean_group R_k) / (std_group R_k + eps))",
    status="checked",
    checks=("gdpo_collapse",),
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        compose=option("decoupled"),
        credit=option("outcome"),
        center=option("group"),
        scale=option("group_std"),
        modify=(option("batch_whiten"),),
        eps=1e-4,
    ),
    loss=LossSpec(kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("token_mean")),
    optim=OptimSpec(lr=1e-3),
    published={
        "advantage.eps": Published(value=1e-4, source="paper, TRL"),
        "optim.lr": Published(value="1e-6 (tools), 5e-6 (mathematics)", source="paper", why=SMALL),
        "sampler.episodes": Published(value=512, source="paper, tools"),
        "sampler.group_size": Published(
            value="4 (tools), 16 (mathematics)", source="paper", why=CHEAP
        ),
    },
    variants={"tokens": {"advantage.modify": "token_whiten"}},
)
