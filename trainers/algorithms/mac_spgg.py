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

from coevo.trainers import parts as p

CODE = "configuration in the released checkpoint"

ALGORITHM = p.Algorithm(
    name="mac_spgg",
    summary="PPO with a policy and a critic per agent, for sequential public goods",
    paper="Liang et al. 2025, MAC-SPGG, arXiv 2508.02076",
    formula=r"A_t = G_t - \mean_\agent G, \quad G_t = \delta_t + \gamma \lambda G_{t+1}",
    status="inferred",
    shows="the equilibrium of a payoff whose parts are joined by our reading",
    reproductions=("mac_spgg",),
    population=p.Separate(),
    collect=p.CollectConfig(episodes=50),
    advantage=p.AdvantageConfig(
        credit=p.Gae(level="token", gamma=0.99, lam=0.95),
        baseline=p.AgentMean(),
        normalise=p.NoNormalisation(),
    ),
    loss=p.LossConfig(regularise=(p.Entropy(coef=0.02),), aggregate=p.TokenMean()),
    critic=p.ValueCritic(lr=5e-4),
    optim=p.OptimConfig(lr=5e-4, epochs=4, minibatches=2, grad_norm=0.5),
    published={
        "collect.episodes": p.Published(50, CODE),
        "advantage.credit.gamma": p.Published(0.99, CODE),
        "advantage.credit.lam": p.Published(0.95, CODE),
        "loss.regularise.entropy.coef": p.Published(0.02, CODE),
        "optim.lr": p.Published(
            "5e-4, times 0.98 after every update",
            CODE,
            "a run may end by time, so that its updates are not known; see schedules",
        ),
        "optim.minibatches": p.Published("batches of 32 in minibatches of 16", CODE),
        "optim.grad_norm": p.Published(0.5, CODE),
    },
)
