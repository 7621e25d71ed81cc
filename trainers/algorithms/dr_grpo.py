"""Dr. GRPO: GRPO without its two biases (arXiv 2503.20783).

No deviation, which inflates very easy and very hard starts, and a constant divisor, rows times
the longest reply, in the place of each row's own length, which favours short right and long
wrong answers. The longest reply is `sampling.max_new_tokens`, never a padded width; verl's
variant of the divisor forgets the rows (`sum_norm`). No KL.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="dr_grpo",
    summary="GRPO without deviation and without a length in the divisor",
    paper="Liu et al. 2025, Understanding R1-Zero, arXiv 2503.20783",
    formula="A_i = R_i - mean_group R; loss = sum_tokens / (rows * longest reply)",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(credit=option("outcome"), center=option("group"), scale=option("none")),
    loss=LossSpec(kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("const")),
    optim=OptimSpec(lr=1e-3),
    published={
        "optim.lr": Published(value=1e-6, source="released code", why=SMALL),
        "sampler.episodes": Published(value="128 prompts", source="released code", why=CHEAP),
    },
    variants={"verl": {"loss.aggregate": "sum_norm"}},
)
