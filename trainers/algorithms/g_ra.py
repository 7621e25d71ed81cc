"""G-RA: lower rewards count only where the higher one is earned (arXiv 2508.10548).

R = R_high + 1[R_high >= delta] * (lower rewards), recursively by priority. Paid on every play,
steps that look useful teach a policy to stall; behind the gate they teach only how to reach the
goal well. Here the payoff is the higher reward and everything else the lower.

Inferred: read in the abstract; thresholds and the paper's full list of priorities are not public.
`--set advantage.compose='{name: gated, high: [payoff, progress], delta: 0.5}'` gives a longer list.
The inner algorithm is GRPO.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="g_ra",
    summary="GRPO on gated rewards: small ones are paid only beside a high outcome",
    paper="Sun et al. 2025, Gated Rewards, arXiv 2508.10548",
    formula=r"R = R_\high + 1[R_\high \ge \delta] \sum R_\low",
    status="inferred",
    shows="five turns of a table; the source trains software agents",
    reproductions=("gated_accumulation",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(compose=p.Gated(high=("payoff",), delta=0.5)),
    optim=p.OptimConfig(lr=1e-3),
)
