"""PAIRED: a designer builds levels that one player can solve and another cannot yet (2012.02096).

Three parameter sets: the designer chooses a level, protagonist and antagonist play it. The players
learn from what the environment pays; the designer alone earns the regret, the best episode of the
antagonist minus the mean of the protagonist's, at least 0. An unsolvable level pays it nothing, and
so does one that both have solved. Roles are those of seats: `designer_0`, `protagonist_*`,
`antagonist_*`; others are named in the reward `regret`.

The paper lets the antagonist maximise the regret as well; the released code trains both players on
the environment's reward, and so does this. Variants: `minimax`, the adversary that is paid for the
protagonist's failure, and `random`, a designer that never learns (domain randomisation).
"""

from coevo.trainers import parts as p

CODE = "released code (dcd)"

ALGORITHM = p.Algorithm(
    name="paired",
    summary="a designer earns the regret between two players of its level",
    paper="Dennis et al. 2020, PAIRED, arXiv 2012.02096",
    formula=r"R_\designer = \max(\max_i U(\text{antagonist}_i) - \mean_j "
    r"U(\text{protagonist}_j), 0)",
    status="table",
    shows="the unsolvable level is left alone; no transfer, and random levels teach sooner",
    reproductions=("paired_corridor", "paired_maze"),
    usage="--env coevo/corridors-v0",
    population=p.ByRole(),
    rewards=(p.Regret(),),
    collect=p.CollectConfig(episodes=64),
    advantage=p.AdvantageConfig(
        credit=p.Gae(level="token", gamma=0.995, lam=0.95),
        baseline=p.AgentMean(),
        normalise=p.NoNormalisation(),
    ),
    loss=p.LossConfig(regularise=(p.Entropy(coef=0.01),), aggregate=p.TokenMean()),
    critic=p.ValueCritic(lr=5e-4),
    optim=p.OptimConfig(lr=5e-4, epochs=5, grad_norm=0.5),
    published={
        "collect.episodes": p.Published("32 workers, 256 steps", CODE, p.CHEAP),
        "advantage.credit.gamma": p.Published(0.995, CODE),
        "loss.regularise.entropy.coef": p.Published(
            0.0, CODE, "a designer must not stop trying levels before they pay"
        ),
        "optim.lr": p.Published(1e-4, CODE, p.SMALL),
        "optim.epochs": p.Published(5, CODE),
    },
    variants={
        "minimax": {"rewards": (p.Regret(of="minimax"),)},
        "random": {"population": p.ByRole(agents={"designer": "random"}), "rewards": ()},
    },
)
