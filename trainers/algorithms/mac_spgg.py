"""MAC-SPGG: PPO for agents that give in turn to a common pot (arXiv 2508.02076).

The learning rule is plain PPO, with a policy and a critic for every agent. What is the paper's own
is the payoff: the own cost, a bonus for building on what others gave before, an equal share, and a
penalty for all where too little comes together. That is the payoff of
`coevo/sequential_public_goods-v0`; on any other environment this is PPO with separate agents.

Inferred: the settings are those of the configuration in the released checkpoint
(YunhaoLiang/MAC-SPGG). The paper's body could not be read and the released code has no reward, so
that the formula of the payoff is our reading of its four parts (`envs/societies/sequential_goods`).
Whether advantages are whitened is not told; here every agent's are centred and not scaled, so that
the entropy bonus is in units of the payoff.

Left out: the policy of the paper chooses six sampling parameters of a frozen language model, and a
judge scores its text as the contribution; here the policy is the language model, or a table. The
cooperation coefficient's decay of 0.99, the stop at a KL of 0.015, and two penalties of which the
checkpoint tells the names alone.
"""

from coevo.agents.population import Separate
from coevo.trainers.algorithm import (
    Algorithm,
    CollectConfig,
    OptimConfig,
    Published,
    ValueCritic,
)
from coevo.trainers.estimators import (
    AdvantageConfig,
    AgentMean,
    Entropy,
    Gae,
    LossConfig,
    NoNormalisation,
    PpoClip,
    TokenMean,
)

CODE = "configuration in the released checkpoint"

ALGORITHM = Algorithm(
    name="mac_spgg",
    summary="PPO with a policy and a critic per agent, for sequential public goods",
    paper="Liang et al. 2025, MAC-SPGG, arXiv 2508.02076",
    formula=r"A_t = G_t - \mean_\agent G, \quad G_t = \delta_t + \gamma \lambda G_{t+1}",
    status="inferred",
    shows="the equilibrium of a payoff whose parts are joined by our reading",
    reproductions=("mac_spgg",),
    population=Separate(),
    collect=CollectConfig(episodes=50),
    advantage=AdvantageConfig(
        credit=Gae(level="token", gamma=0.99, lam=0.95),
        baseline=AgentMean(),
        normalise=NoNormalisation(),
    ),
    loss=LossConfig(
        surrogate=PpoClip(eps_lo=0.2, eps_hi=0.2),
        regularise=(Entropy(coef=0.02),),
        aggregate=TokenMean(),
    ),
    critic=ValueCritic(lr=5e-4),
    optim=OptimConfig(lr=5e-4, epochs=4, minibatches=2, grad_norm=0.5),
    published={
        "collect.episodes": Published(value=50, source=CODE),
        "advantage.credit.gamma": Published(value=0.99, source=CODE),
        "advantage.credit.lam": Published(value=0.95, source=CODE),
        "loss.regularise.entropy.coef": Published(value=0.02, source=CODE),
        "optim.lr": Published(
            value="5e-4, times 0.98 after every update",
            source=CODE,
            why="a run may end by time, so that its updates are not known; see optim.schedule",
        ),
        "optim.minibatches": Published(value="batches of 32 in minibatches of 16", source=CODE),
        "optim.grad_norm": Published(value=0.5, source=CODE),
    },
)
