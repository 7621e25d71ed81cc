"""G-RA: lower rewards count only where the higher one is earned (arXiv 2508.10548).

R = R_high + 1[R_high >= delta] * (lower rewards), recursively by priority. Paid on every play,
steps that look useful teach a policy to stall; behind the gate they teach only how to reach the
goal well. Here the payoff is the higher reward and everything else the lower.

Inferred: read in the abstract; thresholds and the paper's full list of priorities are not public.
`--set "advantage.compose=gate(high=payoff > progress, delta=0.5)"` gives a longer list. The inner
algorithm is GRPO.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="g_ra",
    summary="GRPO on gated rewards: small ones are paid only beside a high outcome",
    paper="Sun et al. 2025, Gated Rewards, arXiv 2508.10548",
    formula="R = R_high + 1[R_high >= delta] sum of lower rewards; A as in GRPO",
    status="inferred",
    checks=("gated_accumulation",),
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        compose=option("gate", high="payoff", delta=0.5),
        credit=option("outcome"),
        center=option("group"),
        scale=option("group_std"),
        eps=1e-6,
    ),
    loss=LossSpec(
        kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("seq_mean_token_mean")
    ),
    optim=OptimSpec(lr=1e-3),
)
