"""SPIRAL: role-conditioned advantage estimation in self-play (arXiv 2506.24119).

The baseline is read before the match updates it; every move of a seat in a match has one advantage.
Left out: dropping moves whose advantage is exactly zero, which changes nothing but the divisor.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="spiral",
    summary="outcome minus a running baseline per game and seat",
    paper="Liu et al. 2025, SPIRAL, arXiv 2506.24119",
    formula=r"A = R - b_{\text{game, seat}}, \quad b \leftarrow 0.95 \, b + 0.05 \, R",
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(baseline=p.SeatEma(decay=0.95), normalise=p.NoNormalisation()),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.ConstantMean()),
    optim=p.OptimConfig(lr=1e-3, epochs=2),
    published={
        "optim.lr": p.Published(1e-6, "released code", "small model"),
        "collect.episodes": p.Published("128 moves", "released code", "plays are cheap"),
    },
    variants={
        "magnet": {"loss.regularise": (p.MagnetKl(coef=0.5),), "magnet": p.EmaMagnet(decay=0.99)}
    },
)
