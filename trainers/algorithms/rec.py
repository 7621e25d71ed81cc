"""REC: group-relative REINFORCE as an off-policy method (arXiv 2509.24203).

-A w logp inside a gate on the ratio s, A = R - group mean, no deviation. The record is
REC-OneSide-NoIS: keep what the pessimistic clip keeps (A >= 0 and s <= 1.2, or A <= 0 and
s >= 0.8), without the weight s. The paper finds that dropping the weight changes nothing and
dropping the clip collapses training.

Variants, by the paper's names: REC-OneSide-NoIS `oneside_nois` (the record itself),
REC-OneSide-IS `oneside_is` (gradient of the clip), REC-TwoSide-IS `twoside_is` (also drops tokens
on the harmless side), REC-Ring-NoIS `ring_nois` (keeps what is far out on the harmless side),
REC-GSPO-NoIS and -IS `gspo_nois`, `gspo_is` (one ratio per row). REP-OPMD is `opmd`, REP-AsymRE
`asymre`, RED-Drop `red_drop`, RED-Weight `red_weight`.
"""

from coevo.trainers import parts as p

CODE = "released code (Trinity-RFT)"
GSPO = {
    "loss.ratio_level": p.SeqGeoRatio(),
    "loss.surrogate.eps_lo": 3e-4,
    "loss.surrogate.eps_hi": 4e-4,
    "loss.aggregate": p.SeqMeanTokenMean(),
}

ALGORITHM = p.Algorithm(
    name="rec",
    summary="gated REINFORCE on the plays of another policy, in six forms",
    paper="Yao et al. 2025, Group-Relative REINFORCE, arXiv 2509.24203",
    formula=r"L_t = -A_t \log \pi_t \, 1[(A_t \ge 0 \wedge s_t \le 1.2) \vee (A_t \le 0 \wedge "
    r"s_t \ge 0.8)]",
    status="formula",
    reproductions=("offline_bandit",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(normalise=p.NoNormalisation()),
    loss=p.LossConfig(
        surrogate=p.Rec(side="one", weight="none", eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()
    ),
    optim=p.OptimConfig(lr=1e-3, minibatches=2),
    published={
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
        "collect.episodes": p.Published(96, CODE, p.CHEAP),
        "collect.group_size": p.Published(8, CODE),
        "collect.replay": p.Published("weights of the sampler every 20 steps", CODE, "one machine"),
    },
    variants={
        "oneside_nois": {},
        "oneside_is": {"loss.surrogate.weight": "is"},
        "twoside_is": {"loss.surrogate.side": "two", "loss.surrogate.weight": "is"},
        "ring_nois": {
            "loss.surrogate.side": "ring",
            "loss.surrogate.ring_lo": 0.6,
            "loss.surrogate.ring_hi": 2.0,
        },
        "gspo_nois": GSPO,
        "gspo_is": {**GSPO, "loss.surrogate.weight": "is"},
    },
)
