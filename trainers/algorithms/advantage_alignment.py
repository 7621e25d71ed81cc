"""Advantage Alignment: help those who let you do well (arXiv 2406.14662, 2511.19405).

A*_t = A_t + beta gamma (sum_{k<t} gamma^{t-k} A_k) A_other,t: where a seat's past went better than
its baseline, moves that also help the others are reinforced, and else moves that hurt them. The
baseline is the mean over the group's other plays at the same turn and seat. This is the version
for language models, without a critic: weights truncated at 2 for the sampler's numerics, the
mean over tokens, one step per update.

Variants: `original`, the sum with the present in it and a clip at 0.1; `naive`, without alignment.
Left out: the pool of past selves, which is `--set "population=pool(every=10, size=30, latest=0.5)"`
as far as the seats of past selves are credited: their advantages are not known here, so turns
beside them keep A_t.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

CODE = "released code (AdAlignLLM)"

ALGORITHM = Algorithm(
    name="advantage_alignment",
    summary="turn advantages plus those of the others, weighed by the own past",
    paper="Duque et al. 2024, Advantage Alignment, arXiv 2406.14662",
    formula="A*_t = A_t + beta gamma (sum_{k<t} gamma^{t-k} A_k) sum_{j != i} A_j,t",
    status="vectors",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("to_go", gamma=0.9),
        center=option("group_loo", by="group+agent+turn"),
        scale=option("none"),
        modify=(option("align", beta=1.0, gamma=0.9, form="discounted"),),
    ),
    loss=LossSpec(
        kind=option("pg"),
        correct=option("token_tis", cap=2.0),
        regularise=(option("entropy", coef=0.01),),
        aggregate=option("token_mean"),
    ),
    optim=OptimSpec(lr=1e-3),
    published={
        "advantage.credit.gamma": Published(value="0.9, 0.96 (trust and split)", source=CODE),
        "advantage.modify.align.beta": Published(
            value="0.5 (dilemma), 1.0 (split), 2.0 (trust and split)", source=CODE
        ),
        "loss.regularise.entropy.coef": Published(value="0.01 (dilemma), else 0", source=CODE),
        "optim.lr": Published(value=3e-6, source=CODE, why=SMALL),
        "sampler.episodes": Published(value="64, 128 (dilemma)", source=CODE, why=CHEAP),
        "sampler.group_size": Published(value=8, source=CODE),
    },
    variants={
        "original": {
            "advantage.modify.align.form": "inclusive",
            "loss.kind": "ppo_clip(eps_lo=0.1, eps_hi=0.1)",
            "loss.correct": "none",
        },
        "naive": {"advantage.modify": "none"},
    },
)
