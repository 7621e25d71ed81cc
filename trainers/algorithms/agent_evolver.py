"""AgentEvolver: a judge marks every turn, and credit adds the marks to the outcome (2511.10395).

Its third part, self-attribution. Every turn is marked good or bad; marks and outcomes are z-scored
apart within the group, marks with equal weight for every trajectory, and the sums from a turn on
are its advantage. The clip is wider above, for replies that the policy rarely gives.

Left out: tasks that an explorer writes (self-questioning), and experience in the prompt
(self-navigating). The variant `noted` reads the environment's own note on a turn in the place of
the judge, for a world that has one.
"""

from coevo.trainers import parts as p

CODE = "released code (modelscope/AgentEvolver)"

ALGORITHM = p.Algorithm(
    name="agent_evolver",
    summary="GRPO with a judge's mark on every turn, added to the outcome",
    paper="Zhai et al. 2025, AgentEvolver, arXiv 2511.10395",
    formula=r"A_{i,t} = \sum_{s \ge t} \alpha \, z_\group (m_{i,s}) + z_\group (R_i)",
    status="toy",
    shows="the credit alone; tasks and experience are left out",
    reproductions=("marked_key_door",),
    cycle=(p.Collect(), p.MarkTurns(), *p.POLICY_GRADIENT[1:]),
    judges={"judge": p.JudgeRole(policy="policy")},
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(
        credit=p.Attributed(alpha=0.1),
        baseline=p.NoBaseline(),
        normalise=p.NoNormalisation(),
    ),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.28)),
    published={
        "advantage.credit.alpha": p.Published("0.1, 0.2 in its script", CODE),
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
    },
    variants={
        "noted": {"cycle": (p.Collect(), p.MarkTurns(by=p.ByNote()), *p.POLICY_GRADIENT[1:])}
    },
)
