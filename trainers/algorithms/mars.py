"""MARS / MARSHAL: turn-level return-to-go, centred per seat (arXiv 2510.15414, section 4).

A(i,k) = R(i,k) - mean of R over all turns of the same game and seat, R the return-to-go of turn
k with gamma 1. Sum first, normalise afterwards; no critic, no division by a deviation.

Left out: the length penalty and the answer filter, which matter for long reasoning only, and
the released code's masks for truncated replies. The code's five-step advantage is variant `code`.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="mars",
    summary="self-play with turn-level returns centred per seat",
    paper="Yuan et al. 2025, arXiv 2510.15414 (MARS, later MARSHAL)",
    formula="A(i,k) = sum_{k'>=k} r(i,k') - mean over all turns of the same game and seat",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(episodes=512),
    advantage=AdvantageSpec(
        credit=option("to_go", gamma=1.0), center=option("agent_group"), scale=option("none")
    ),
    loss=LossSpec(
        kind=option("dual_clip", eps_lo=0.2, eps_hi=0.2, c=1.4),
        regularise=(option("magnet", coef=0.1),),
        aggregate=option("token_mean"),
    ),
    magnet=option("snapshot", every=20),
    optim=OptimSpec(lr=1e-3, schedule="linear"),
)
