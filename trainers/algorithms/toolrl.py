"""ToolRL: GRPO on a graded reward for tool calls (arXiv 2504.13958).

Format, 0 or 1, plus correctness in [-3, 3]: how alike names, argument names and values are to the
expected calls. The reward is in `envs/rewards/tools.py`; tasks without expected calls get none. The
variant `decoupled` normalises the two parts apart, as GDPO does.

The score is that of qiancheng0/ToolRL@8cee13e; the form of a reply differs: calls are written
`name(key=value)`, without its tags and JSON. Left out: the released schedules (range from 1 to 3
after 30 steps, format traded for correctness, a reward for length).
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="toolrl",
    summary="GRPO on the format and the graded correctness of tool calls",
    paper="Qian et al. 2025, ToolRL, arXiv 2504.13958",
    formula=r"R = R_\format + 6 \frac{S}{S_{\max}} - 3, \quad R_\format \in \{0, 1\}",
    status="vectors",
    rewards=(p.ToolCalls(),),
    collect=p.CollectConfig(episodes=512, group_size=4),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
        "collect.episodes": p.Published("512 prompts", CODE, p.CHEAP),
        "collect.group_size": p.Published(4, CODE),
    },
    variants={
        "decoupled": {
            "rewards": (p.ToolCalls(part="format"), p.ToolCalls(part="correctness")),
            "advantage.compose": p.Decoupled(),
            "advantage.transform": (p.BatchWhiten(),),
        }
    },
)
