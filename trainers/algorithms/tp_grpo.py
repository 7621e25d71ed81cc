"""TP-GRPO: a judge marks steps, and equal marks in a row are one thought (arXiv 2507.23317).

The outcome is z-scored in the group, as in GRPO; thoughts are credited beside it: good ones more
where the task is hard for the policy, bad ones more where it is easy. Each is divided by the number
of thoughts of its reply, so that more thoughts are not more reward. A step is a turn here.

Inferred: the paper's formula of what depends on ability was not found; ours is 1 - p and p. The
paper's judge reads signals in a solution, such as a correction, without solving the task: here it
is asked whether a turn is right. Left out: its off-policy data. The variant `noted` reads the
environment's own note in the place of the judge.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="tp_grpo",
    summary="GRPO with marks of a judge, merged into thoughts and weighed by ability",
    paper="He et al. 2025, TP-GRPO, arXiv 2507.23317",
    formula=r"A_{i,t} = z(R_i) + \sum_{s \ge t} \alpha z(v_{i,s}), \quad v = "
    r"\frac{1 - p}{n_i} \text{ or } \frac{-p}{n_i} \text{ at the end of a thought}",
    status="toy",
    shows="fewer updates than from outcomes alone, with exact marks of which one in ten is wrong",
    reproductions=("thought_marks",),
    cycle=(p.Collect(), p.MarkTurns(), *p.POLICY_GRADIENT[1:]),
    judges={"judge": p.JudgeRole(policy="policy")},
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(
        credit=p.Thoughts(alpha=0.5), baseline=p.NoBaseline(), normalise=p.NoNormalisation()
    ),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2)),
    variants={
        "noted": {"cycle": (p.Collect(), p.MarkTurns(by=p.ByNote()), *p.POLICY_GRADIENT[1:])}
    },
)
