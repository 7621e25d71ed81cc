"""Turn-PPO: PPO whose step is a turn, not a token (arXiv 2512.17008).

One value per turn, read before its first token (the state is the history up to the turn); the
generalised advantage runs over turns, and every token of turn k gets A_k. One ratio per turn,
the geometric mean of its tokens', so that a turn is clipped as a whole.

Inferred: the abstract was readable, and a summary of the paper that names the turn-level clip and
gamma and lambda. Where the value is read and whether the ratio is a mean or a product are ours;
variant `token_ratio` clips tokens, as the first reading of the abstract had it.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="turn_ppo",
    summary="PPO with a critic whose advantages and clip are those of whole turns",
    paper="Li et al. 2025, Turn-PPO, arXiv 2512.17008",
    formula=r"A_k = \delta_k + \gamma \lambda A_{k+1}, \quad \delta_k = r_k + \gamma V_{k+1} - "
    r"V_k \quad \text{over turns } k",
    status="inferred",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(
        credit=p.Gae(level="turn", gamma=0.99, lam=0.9),
        baseline=p.BatchMean(),
        normalise=p.TokenStd(),
    ),
    loss=p.LossConfig(ratio_level=p.TurnRatio(), aggregate=p.TokenMean()),
    critic=p.ValueCritic(),
    optim=p.OptimConfig(lr=5e-4, epochs=2, minibatches=2),
    published={
        "advantage.credit.gamma": p.Published(0.99, "summary of the paper"),
        "advantage.credit.lam": p.Published(0.9, "summary of the paper"),
        "critic.lr": p.Published("above the actor's", "summary of the paper"),
        "optim.lr": p.Published(1e-6, "verl, default actor", p.SMALL),
    },
    variants={"token_ratio": {"loss.ratio_level": p.TokenRatio()}},
)
