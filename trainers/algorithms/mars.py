"""MARS / MARSHAL: turn-level return-to-go, centred per seat (arXiv 2510.15414).

A(i,k) = R(i,k) - mean of R over all turns of the same game and seat, where R(i,k) is the sum of
the rewards of turn k and later ones. Sum first, centre afterwards; no critic, no deviation.

Left out: the length penalty, which matters for long reasoning only (add `length` to the rewards),
and the released filter of long replies. The five-step advantage of the released code is the
variant `code`, with its loss and its KL to the start policy.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

CODE = "released code (thu-nics/MARSHAL, 2025-12)"
SMALL = "a one-million-parameter model is trained from a weak start, not a 4B model fine-tuned"

ALGORITHM = Algorithm(
    name="mars",
    summary="self-play with turn-level returns, centred per seat",
    paper="Yuan et al. 2025, MARS (later MARSHAL), arXiv 2510.15414",
    formula="A(i,k) = sum_{k'>=k} r(i,k') - mean over all turns of the same game and seat",
    status="checked",
    checks=("mars_centre",),
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512),
    advantage=AdvantageSpec(
        credit=option("to_go", gamma=1.0), center=option("agent_group"), scale=option("none")
    ),
    loss=LossSpec(
        kind=option("dual_clip", eps_lo=0.2, eps_hi=0.2, c=1.4),
        regularise=(option("magnet", coef=0.5),),
        aggregate=option("token_mean"),
    ),
    magnet=option("ema", decay=0.99),
    optim=OptimSpec(lr=3e-4, schedule="linear", final_lr=0.02),
    published={
        "loss.aggregate": Published(
            value="seq_mean_token_mean",
            source=CODE,
            why="the same where answers are equally long, and no length bias elsewhere",
        ),
        "loss.regularise": Published(
            value="kl(kind=k3, coef=0.2) to the start policy",
            source=CODE,
            why="a fixed reference keeps a weak start weak; a magnet that follows the policy "
            "makes self-play converge in games whose equilibrium is mixed "
            "(Perolat et al. 2021, arXiv 2002.08456; Sokota et al. 2023, arXiv 2206.05825)",
        ),
        "optim.lr": Published(value=1e-6, source=CODE, why=SMALL),
        "optim.schedule": Published(
            value="cosine, warm-up 10", source=CODE, why="runs end by a budget"
        ),
        "optim.weight_decay": Published(value=0.05, source=CODE, why=SMALL),
        "sampler.episodes": Published(
            value=192, source=CODE, why="plays are cheap here: 384 rows / 2"
        ),
    },
    variants={
        "code": {
            "advantage.credit": "mars_code",
            "advantage.center": "agent_unique(by=seat, padding_zero=true)",
            "advantage.scale": "token_std",
            "loss.regularise": "kl(kind=k3, coef=0.2)",
            "loss.aggregate": "seq_mean_token_mean",
            "magnet": "none",
        },
        "pooled": {"advantage.center": "batch"},
        "plain": {"loss.regularise": "none", "magnet": "none"},
    },
)
