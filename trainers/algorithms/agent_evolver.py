"""AgentEvolver: a judge marks every turn, and credit adds the marks to the outcome (2511.10395).

Its third part, self-attribution, is what runs by default. Every turn is marked good or bad; marks
and outcomes are z-scored apart within the group, marks with equal weight for every trajectory, and
the sums from a turn on are its advantage. The clip is wider above, for replies that the policy
rarely gives. `noted` reads the environment's own note on a turn in the place of the judge.

The other two parts are variants, each alone, with GRPO on the outcome. `questioning`: an explorer
makes random moves and writes down what it has brought about as a task. A task is kept whose
reference, the moves up to then, solves it when it is played again, and of like tasks one; the
environment must define `Task.achieved`, as quest does. `navigating`: half of the tries of a task
have up to three solved tasks in the prompt. They are compared with the other half, and learnt
without what was added, under a clip of .6 above.

Left out: a language model that explores, writes tasks and judges; the summary of experience, in
whose place are the moves themselves; a wide clip for the tries with experience alone.
"""

from coevo.trainers import parts as p

CODE = "released code (modelscope/AgentEvolver)"
PLAIN = {"advantage": p.AdvantageConfig(), "judges": {}}
"""GRPO on the outcome."""

ALGORITHM = p.Algorithm(
    name="agent_evolver",
    summary="GRPO with a judge's mark on every turn, added to the outcome",
    paper="Zhai et al. 2025, AgentEvolver, arXiv 2511.10395",
    formula=r"A_{i,t} = \sum_{s \ge t} \alpha \, z_\group (m_{i,s}) + z_\group (R_i)",
    status="toy",
    shows="its parts one by one, with scripts; to keep sound and new tasks alone teaches less",
    reproductions=("marked_key_door", "explored_errands", "experience_stripped"),
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
        "noted": {"cycle": (p.Collect(), p.MarkTurns(by=p.ByNote()), *p.POLICY_GRADIENT[1:])},
        "questioning": {
            **PLAIN,
            "cycle": p.POLICY_GRADIENT,
            "collect.curriculum": p.Explored(),
        },
        "navigating": {
            **PLAIN,
            "cycle": (
                p.Collect(),
                p.Guide(by=p.Examples(shown=3), of="all", tries=4),
                *p.POLICY_GRADIENT[1:],
            ),
            "collect.group_size": 4,
            "loss.surrogate.eps_hi": 0.6,
        },
    },
)
