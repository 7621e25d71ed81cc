"""ToolRL: GRPO on a graded reward for tool calls (arXiv 2504.13958).

Format, 0 or 1, plus correctness in [-3, 3]: how alike names, argument names and values are to the
expected calls. The reward is in `envs/rewards/tools.py`; tasks without expected calls get none. The
variant `decoupled` normalises the two parts apart, as GDPO does.

The score is that of qiancheng0/ToolRL@8cee13e; the form of a reply differs: calls are written
`name(key=value)`, without its tags and JSON. Left out: the released schedules (range from 1 to 3
after 30 steps, format traded for correctness, a reward for length).
"""

from coevo.envs.rewards import ToolCalls
from coevo.trainers.algorithm import Algorithm, CollectConfig, OptimConfig, Published
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import (
    AdvantageConfig,
    BatchWhiten,
    Decoupled,
    GroupMean,
    GroupStd,
    LossConfig,
    Outcome,
    PpoClip,
    SeqMeanTokenMean,
)

CODE = "released code"

ALGORITHM = Algorithm(
    name="toolrl",
    summary="GRPO on the format and the graded correctness of tool calls",
    paper="Qian et al. 2025, ToolRL, arXiv 2504.13958",
    formula=r"R = R_\format + 6 \frac{S}{S_{\max}} - 3, \quad R_\format \in \{0, 1\}",
    status="vectors",
    rewards=(ToolCalls(),),
    collect=CollectConfig(episodes=512, group_size=4),
    advantage=AdvantageConfig(
        credit=Outcome(), baseline=GroupMean(), normalise=GroupStd(), eps=1e-6
    ),
    loss=LossConfig(surrogate=PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=SeqMeanTokenMean()),
    optim=OptimConfig(lr=1e-3),
    published={
        "optim.lr": Published(value=1e-6, source=CODE, why=SMALL),
        "collect.episodes": Published(value="512 prompts", source=CODE, why=CHEAP),
        "collect.group_size": Published(value=4, source=CODE),
    },
    variants={
        "decoupled": {
            "rewards": (
                ToolCalls(part="format"),
                ToolCalls(part="correctness"),
            ),
            "advantage.compose": Decoupled(),
            "advantage.transform": (BatchWhiten(),),
        }
    },
)
