"""Turn-PPO: PPO whose step is a turn, not a token (arXiv 2512.17008).

One value per turn, read before its first token (the state is the history up to the turn); the
generalised advantage runs over turns, and every token of turn k gets A_k. One ratio per turn,
the geometric mean of its tokens', so that a turn is clipped as a whole.

Inferred: the abstract was readable, and a summary of the paper that names the turn-level clip and
gamma and lambda. Where the value is read and whether the ratio is a mean or a product are ours;
variant `token_ratio` clips tokens, as the first reading of the abstract had it.
"""

from coevo.envs.rewards import Format
from coevo.trainers.algorithm import (
    Algorithm,
    CollectConfig,
    OptimConfig,
    Published,
    ValueCritic,
)
from coevo.trainers.algorithms.reasons import SMALL
from coevo.trainers.estimators import (
    AdvantageConfig,
    BatchMean,
    Gae,
    LossConfig,
    PpoClip,
    TokenMean,
    TokenRatio,
    TokenStd,
    TurnRatio,
)

ALGORITHM = Algorithm(
    name="turn_ppo",
    summary="PPO with a critic whose advantages and clip are those of whole turns",
    paper="Li et al. 2025, Turn-PPO, arXiv 2512.17008",
    formula=r"A_k = \delta_k + \gamma \lambda A_{k+1}, \quad \delta_k = r_k + \gamma V_{k+1} - "
    r"V_k \quad \text{over turns } k",
    status="inferred",
    rewards=(Format(legal=0.05),),
    collect=CollectConfig(episodes=512),
    advantage=AdvantageConfig(
        credit=Gae(level="turn", gamma=0.99, lam=0.9),
        baseline=BatchMean(),
        normalise=TokenStd(),
    ),
    loss=LossConfig(
        ratio_level=TurnRatio(),
        surrogate=PpoClip(eps_lo=0.2, eps_hi=0.2),
        aggregate=TokenMean(),
    ),
    critic=ValueCritic(),
    optim=OptimConfig(lr=5e-4, epochs=2, minibatches=2),
    published={
        "advantage.credit.gamma": Published(value=0.99, source="summary of the paper"),
        "advantage.credit.lam": Published(value=0.9, source="summary of the paper"),
        "critic.lr": Published(value="above the actor's", source="summary of the paper"),
        "optim.lr": Published(value=1e-6, source="verl, default actor", why=SMALL),
    },
    variants={"token_ratio": {"loss.ratio_level": TokenRatio()}},
)
