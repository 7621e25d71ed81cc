"""SPIRAL: role-conditioned advantage estimation in self-play (arXiv 2506.24119).

A = R - b(game, seat), the running baseline read before the match updates it:
b <- 0.95 b + 0.05 R. The same advantage for every move of a seat in a match.

Left out: dropping moves whose advantage is exactly zero, which changes nothing but the divisor.
"""

from coevo.trainers.algorithm import Algorithm, CollectConfig, EmaMagnet, OptimConfig, Published
from coevo.trainers.estimators import (
    AdvantageConfig,
    ConstantMean,
    LossConfig,
    MagnetKl,
    NoNormalisation,
    Outcome,
    PpoClip,
    SeatEma,
)

ALGORITHM = Algorithm(
    name="spiral",
    summary="outcome minus a running baseline per game and seat",
    paper="Liu et al. 2025, SPIRAL, arXiv 2506.24119",
    formula=r"A = R - b_{\text{game, seat}}, \quad b \leftarrow 0.95 \, b + 0.05 \, R",
    collect=CollectConfig(episodes=512),
    advantage=AdvantageConfig(
        credit=Outcome(), baseline=SeatEma(decay=0.95), normalise=NoNormalisation()
    ),
    loss=LossConfig(surrogate=PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=ConstantMean()),
    optim=OptimConfig(lr=1e-3, epochs=2),
    published={
        "optim.lr": Published(value=1e-6, source="released code", why="small model"),
        "collect.episodes": Published(
            value="128 moves", source="released code", why="plays are cheap"
        ),
    },
    variants={
        "magnet": {"loss.regularise": (MagnetKl(coef=0.5),), "magnet": EmaMagnet(decay=0.99)}
    },
)
