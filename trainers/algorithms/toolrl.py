"""ToolRL: GRPO on a graded reward for tool calls (arXiv 2504.13958).

Format, 0 or 1, plus correctness in [-3, 3]: how alike names, argument names and values are to the
expected calls. The reward is in `envs/rewards/tools.py`; tasks without expected calls are not
paid by it. The variant `decoupled` normalises the two parts apart, as GDPO does.

Left out: the released schedules (range from 1 to 3 after 30 steps, format traded for correctness,
a reward for length).
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

CODE = "released code"

ALGORITHM = Algorithm(
    name="toolrl",
    summary="GRPO on the format and the graded correctness of tool calls",
    paper="Qian et al. 2025, ToolRL, arXiv 2504.13958",
    formula="R = format {0, 1} + 6 S / S_max - 3; A as in GRPO",
    status="vectors",
    rewards=(option("toolrl"),),
    sampler=SamplerSpec(episodes=512, group_size=4),
    advantage=AdvantageSpec(
        credit=option("outcome"), center=option("group"), scale=option("group_std"), eps=1e-6
    ),
    loss=LossSpec(
        kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("seq_mean_token_mean")
    ),
    optim=OptimSpec(lr=1e-3),
    published={
        "optim.lr": Published(value=1e-6, source=CODE, why=SMALL),
        "sampler.episodes": Published(value="512 prompts", source=CODE, why=CHEAP),
        "sampler.group_size": Published(value=4, source=CODE),
    },
    variants={
        "decoupled": {
            "rewards": "toolrl(part=format); toolrl(part=correctness)",
            "advantage.compose": "decoupled",
            "advantage.modify": "batch_whiten",
        }
    },
)
