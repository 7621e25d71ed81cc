"""Advantage Alignment: help those who let you do well (arXiv 2406.14662, 2511.19405).

A*_t = A_t + beta gamma (sum_{k<t} gamma^{t-k} A_k) A_other,t: where a seat's past went better than
its baseline, moves that also help the others are reinforced, and else moves that hurt them. A_t is
the discounted return less its mean over the other plays of the same start, at the same round and
seat: there is no critic, and no luck of the deal in it. This is the version for language models:
all replies of a round are one time-step, weights are truncated at 2 for the sampler's numerics,
the loss is the mean over tokens, one step per update.

Half of the groups are played by the policy against itself, the other half against a past self in
one seat. Past selves are credited, since the policy needs their advantages, and not trained. The
settings are those of the iterated prisoner's dilemma, with its rewards (0 to 5) divided by 5.

Variants: `split` and `trust_and_split`, the settings of these games, with rewards of 0 to 100;
`naive`, without alignment, and `sum_of_rewards`, where all learn for everybody: the two controls;
`no_pool`, self-play alone; `batch`, one baseline for all starts; `original`, the sum with the
present in it and a clip at 0.1.
Left out: the critic that the released code has as an ablation, and its switches that were off.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

CODE = "released code (AdAlignLLM)"
SPLIT = {
    "advantage.reward_weights": {"payoff": 0.01},
    "advantage.modify.align.beta": 1.0,
    "loss.regularise": "kl(coef=0.001, kind=k3)",
    "sampler.episodes": 64,
}
"""Settings of the split game that differ from those of the dilemma."""

ALGORITHM = Algorithm(
    name="advantage_alignment",
    summary="round advantages plus those of the others, weighed by the own past",
    paper="Duque et al. 2024, Advantage Alignment, arXiv 2406.14662",
    formula="A*_t = A_t + beta gamma (sum_{k<t} gamma^{t-k} A_k) sum_{j != i} A_j,t",
    status="checked",
    checks=("aa_ipd", "aa_split", "aa_seed"),
    population=option("pool", every=10, size=30, latest=0.5),
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=128, group_size=8),
    advantage=AdvantageSpec(
        reward_weights={"payoff": 0.2},
        credit=option("to_go", gamma=0.9),
        center=option("group_loo", by="group+agent+turn"),
        scale=option("none"),
        modify=(option("align", beta=0.5, gamma=0.9, form="discounted"),),
        steps="round",
        others=True,
    ),
    loss=LossSpec(
        kind=option("pg"),
        correct=option("token_tis", cap=2.0),
        regularise=(option("entropy", coef=0.01),),
        aggregate=option("token_mean"),
    ),
    optim=OptimSpec(lr=1e-3),
    published={
        "population": Published(value="every 10 updates, 30 kept, half of the groups", source=CODE),
        "advantage.reward_weights.payoff": Published(
            value="1/5 (dilemma), 1/100 (split, trust and split)", source=CODE
        ),
        "advantage.credit.gamma": Published(value="0.9, 0.96 (trust and split)", source=CODE),
        "advantage.modify.align.beta": Published(
            value="0.5 (dilemma), 1.0 (split), 2.0 (trust and split)", source=CODE
        ),
        "loss.regularise.entropy.coef": Published(value="0.01 (dilemma), else 0", source=CODE),
        "optim.lr": Published(value=3e-6, source=CODE, why=SMALL),
        "sampler.episodes": Published(value="128 (dilemma), 64", source=CODE),
        "sampler.group_size": Published(
            value="8; the whole batch of 128 (dilemma)",
            source=CODE,
            why="8 end alike in `coevo check aa_ipd`, and several past selves are met per update",
        ),
    },
    variants={
        "split": SPLIT,
        "trust_and_split": {
            **SPLIT,
            "advantage.credit.gamma": 0.96,
            "advantage.modify.align.gamma": 0.96,
            "advantage.modify.align.beta": 2.0,
        },
        "naive": {"advantage.modify": "none", "advantage.others": False},
        "sum_of_rewards": {"advantage.modify": "sum_others"},
        "no_pool": {"population": "shared"},
        "batch": {"advantage.center.by": "agent+turn"},
        "original": {
            "advantage.modify.align.form": "inclusive",
            "loss.kind": "ppo_clip(eps_lo=0.1, eps_hi=0.1)",
            "loss.correct": "none",
        },
    },
)
