"""EPO: an entropy bonus inside a corridor around the past entropy of each turn (2509.22576).

For agents of thirty turns and more. Loss + -c (H - lam * penalty): outside kappa_l Hbar_k < H <
kappa_r Hbar_k, Hbar_k the mean over past updates of the entropy at turn k, the penalty grows.

Not copied: in the released code the penalty is the result of a comparison, without gradient, so
that only the plain bonus acts; that is the variant `reported`. Ours is a hinge, alpha times the
distance; the variant `mask` scales the bonus outside the corridor. The code's phase weight jumps
from 0.8271 to 0.7686 in the middle of a run; it is off, `--set loss.regularise.epo.phases=true`
turns it on as it is. Its mean over past updates includes the current one (WujiangXu/EPO@5b6fa98);
ours stops before it, so that a mini-batch does not move its own corridor.

The paper adds the term to PPO and to GRPO; here to GRPO with a token mean.
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="epo",
    summary="GRPO with an entropy bonus that stays near the entropy of earlier updates",
    paper="Xu et al. 2025, EPO, arXiv 2509.22576",
    formula=r"L = L_\clip - c \left( H_t - \lambda \alpha (\relu(\kappa_l \bar{H}_k - H_t) + "
    r"\relu(H_t - \kappa_r \bar{H}_k)) \right)",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    loss=p.LossConfig(
        regularise=(
            p.Epo(
                coef=0.001, mode="hinge", kappa_l=0.0, kappa_r=2.0, alpha=0.1, lam=1.0, from_turn=0
            ),
        ),
        aggregate=p.TokenMean(),
    ),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "loss.regularise.epo.coef": p.Published(0.001, CODE),
        "loss.regularise.epo.alpha": p.Published("0.05 to 0.1", CODE),
        "loss.regularise.epo.kappa_r": p.Published("2.0", CODE),
        "loss.regularise.epo.from_turn": p.Published(
            25, CODE, "half of the limit of turns there; games are shorter"
        ),
        "loss.regularise.epo.mode": p.Published("reported", CODE, "its penalty has no gradient"),
    },
    variants={
        "reported": {"loss.regularise.epo.mode": "reported"},
        "mask": {"loss.regularise.epo.mode": "mask"},
    },
)
