"""C2: pairs are judged by a rubric that another role writes and the judge may reject (2604.13618).

For every task a writer gives a rubric; the judge is asked whether it helps, and compares the
replies to the task by it, or without it. The policy is paid how often its reply is preferred. The
variant `always` follows every rubric, `none` asks for none.

Left out: the training of both roles. The source trains the writer by DPO, with rubrics that raise
the judge's margin for the preferred reply over those that lower it, and the judge by GRPO on its
preference, its verdict on the rubric and its format.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="c2",
    summary="GRPO on preferences by rubrics that a critical judge may reject",
    paper="Kawabata, Sugawara 2026, C2, arXiv 2604.13618",
    formula=r"r_i = \frac{1}{G - 1} \sum_{j \ne i} P(i \succ j \mid \rho), \quad \rho = "
    r"\text{the rubric where the judge takes it for helpful}",
    status="formula",
    shows="the judge that may reject, with scripts; neither role learns",
    reproductions=("c2_gate",),
    rewards=(p.Judge(how="pairwise", rubric_by="writer"),),
    judges={
        "judge": p.JudgeRole(learns=False),
        "writer": p.JudgeRole(policy="writer", learns=False),
    },
    collect=p.CollectConfig(episodes=256, group_size=8, component="judge"),
    advantage=p.AdvantageConfig(reward_weights={"payoff": 0.0}),
    optim=p.OptimConfig(lr=1e-3),
    variants={
        "always": {"rewards": (p.Judge(how="pairwise", rubric_by="writer", critical=False),)},
        "none": {"rewards": (p.Judge(how="pairwise"),)},
    },
)
