"""DaGRPO: a play teaches only if one of the other kind is distinct enough (arXiv 2512.06337).

Good and bad plays of a group form pairs; a pair counts where their scores differ by delta or more,
and a play in no such pair gets 0: pairs that hardly differ pull the policy both ways.

Inferred: read in the abstract; the rule and delta are ours. The paper scores plays with a language
model; without such a judge the payoff stands for the score, so that near ties are dropped. With
one: `--set advantage.transform.pair_gate.score=NAME --set advantage.reward_weights.NAME=0`.
Left out: expert plays that are added to groups without a success; they need data and a loss of
their own. A public third-party version masks whole groups instead; it is not the paper's.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="dagrpo",
    summary="GRPO on plays that differ enough from one of the other kind in their group",
    paper="Xie et al. 2025, DaGRPO, arXiv 2512.06337",
    formula=r"A_i = \frac{R_i - \mean_g R}{\std_g R + \epsilon} \\ "
    r"A_i = 0 \text{ unless } |s_i - s_j| \ge \delta \text{ for a } j \text{ of the other kind}",
    status="inferred",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(transform=(p.PairGate(score="payoff", delta=0.1),)),
    optim=p.OptimConfig(lr=1e-3),
)
