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
`no_pool`, self-play alone; `batch`, one baseline for all starts; `original`, the weights of the
first paper's code (jduquevan/advantage-alignment@2065e43), the undiscounted mean of the past
advantages, with a clip at 0.1 and without its critic, its normalisation and its replay.

Ours: a reward of 0.05 per legal reply, which a weak start needs; it is in the advantages, the own
and those of the others, where a game of the dilemma pays 0 to 1 per round. In the variants of the
split game the KL is not multiplied by the weight for the sampler's numerics, in the code it is.
Seats stand beside each other by their rounds. Left out: the critic that the released code has as
an ablation, and its switches that were off; adapters (LoRA), whose place full weights take.
"""

from coevo.trainers import parts as p

CODE = "released code (AdAlignLLM)"
SPLIT = {
    "advantage.reward_weights": {"payoff": 0.01},
    "advantage.transform.align.beta": 1.0,
    "loss.regularise": (p.Kl(coef=0.001, kind="k3"),),
    "collect.episodes": 64,
}
"""Settings of the split game that differ from those of the dilemma."""

ALGORITHM = p.Algorithm(
    name="advantage_alignment",
    summary="round advantages plus those of the others, weighed by the own past",
    paper="Duque et al. 2024, Advantage Alignment, arXiv 2406.14662",
    formula=r"A^*_t = A_t + \beta \gamma \left( \sum_{k < t} \gamma^{t-k} A_k \right) \sum_{j "
    r"\ne i} A_{j,t}",
    status="model",
    shows="cooperation of tables and of the starter model, of SmolLM2 in one seed",
    reproductions=("aa_ipd", "aa_split", "aa_starter", "aa_smollm2"),
    population=p.PastSelves(every=10, size=30, latest=0.5),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=128, group_size=8),
    advantage=p.AdvantageConfig(
        reward_weights={"payoff": 0.2},
        credit=p.ToGo(gamma=0.9),
        baseline=p.LeaveOneOut(by="group+agent+turn"),
        normalise=p.NoNormalisation(),
        transform=(p.Align(beta=0.5, gamma=0.9, form="discounted"),),
        steps="round",
        others=True,
    ),
    loss=p.LossConfig(
        surrogate=p.PolicyGradient(),
        is_correction=p.TokenTis(cap=2.0),
        regularise=(p.Entropy(coef=0.01),),
        aggregate=p.TokenMean(),
    ),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "population": p.Published("every 10 updates, 30 kept, half of the groups", CODE),
        "advantage.reward_weights.payoff": p.Published(
            "1/5 (dilemma), 1/100 (split, trust and split)", CODE
        ),
        "advantage.credit.gamma": p.Published("0.9, 0.96 (trust and split)", CODE),
        "advantage.transform.align.beta": p.Published(
            "0.5 (dilemma), 1.0 (split), 2.0 (trust and split)", CODE
        ),
        "loss.regularise.entropy.coef": p.Published("0.01 (dilemma), else 0", CODE),
        "optim.lr": p.Published(3e-6, CODE, p.SMALL),
        "collect.episodes": p.Published("128 (dilemma), 64", CODE),
        "collect.group_size": p.Published(
            "8; the whole batch of 128 (dilemma)",
            CODE,
            "8 end alike in `coevo reproduce aa_ipd`, several past selves are met per update",
        ),
    },
    variants={
        "split": SPLIT,
        "trust_and_split": {
            **SPLIT,
            "advantage.credit.gamma": 0.96,
            "advantage.transform.align.gamma": 0.96,
            "advantage.transform.align.beta": 2.0,
        },
        "naive": {"advantage.transform": (), "advantage.others": False},
        "sum_of_rewards": {"advantage.transform": (p.SumOthers(),)},
        "no_pool": {"population": p.Shared()},
        "batch": {"advantage.baseline.by": "agent+turn"},
        "original": {
            "advantage.transform.align.form": "sum",
            "advantage.transform.align.mean": "past",
            "loss.surrogate": p.PpoClip(eps_lo=0.1, eps_hi=0.1),
            "loss.is_correction": None,
        },
    },
)
