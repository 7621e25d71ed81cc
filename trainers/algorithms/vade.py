"""VADE: starts are drawn by a fading belief about how much they teach (arXiv 2511.18902).

Each start keeps a Beta belief of its success rate that forgets at two rates, with every visit and
with every update. Every update draws a rate theta from each of them and plays the starts with the
largest theta (1 - theta), a group of eight each: the starts whose outcomes would differ most.

Inferred: the abstract names Beta posteriors, Thompson sampling, information gain and a decay of
two scales; all forms and values are ours.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import RANGE
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="vade",
    summary="GRPO whose plays follow a Thompson draw of what each start can teach",
    paper="2025, VADE, arXiv 2511.18902",
    formula="theta ~ Beta(1 + s, 1 + n - s), s and n faded; play the largest theta (1 - theta)",
    status="inferred",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(
        episodes=512,
        group_size=8,
        starts=256,
        allocate=option("vade", group=8, score="variance", spread="pick"),
        low=-2.0,
        high=2.0,
    ),
    advantage=AdvantageSpec(
        credit=option("outcome"), center=option("group"), scale=option("group_std"), eps=1e-6
    ),
    loss=LossSpec(
        kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("seq_mean_token_mean")
    ),
    optim=OptimSpec(lr=1e-3),
    published={"sampler.low": Published(value=0.0, source="abstract (accuracy)", why=RANGE)},
)
