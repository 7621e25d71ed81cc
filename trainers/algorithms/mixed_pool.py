"""Mixed pool: learners meet one another and players that never learn, and are not told which.

Half of the episodes are played against other learners, half against memory-one players of the
repeated prisoner's dilemma. Whoever does not know whom it meets must find out from what is played,
and answer it; learners that answer so can be led, and by the paper lead one another, to cooperate.
Independent actor-critic: no learner looks into another, and none learns faster.

Ours: the source draws memory-one players at random, five probabilities each; these are strategies
by name, those that answer a defection and one that always defects. With players that are better
exploited among them (always_c, wsls) cooperation was left to chance. The source trains sequence
models, which recall the whole episode; what a policy of ours recalls is a matter of the environment
(`env_options.memory`). Left out: the paper's planning with a model of the sequence (PPI). Variants:
`learners_only`, the paper's control, and `members_only`.
"""

from coevo.agents.population import PastSelves
from coevo.trainers.algorithm import (
    Algorithm,
    CollectConfig,
    OptimConfig,
    Published,
    ValueCritic,
)
from coevo.trainers.algorithms.reasons import CHEAP
from coevo.trainers.estimators import (
    AdvantageConfig,
    BatchMean,
    Entropy,
    Gae,
    LossConfig,
    PolicyGradient,
    TokenMean,
    TokenStd,
)

PAPER = "paper, A2C"
PLAYERS = ("always_d", "tft", "gtft", "grim")

ALGORITHM = Algorithm(
    name="mixed_pool",
    summary="learners meet learners and memory-one players, and are not told which",
    paper="Weis et al. 2026, in-context co-player inference, arXiv 2602.16301",
    formula=r"A_t = \sum_k \gamma^k r_{t+k} - V_t \\ \text{opponent} \sim \frac{1}{2} \text{ "
    r"learners} + \frac{1}{2} \text{ memory-one players}",
    status="table",
    shows="cooperation in a pool that was chosen by hand; no mutual extortion",
    reproductions=("pool_cooperation",),
    population=PastSelves(size=0, latest=0.5, learners=2, members=PLAYERS),
    collect=CollectConfig(episodes=256),
    advantage=AdvantageConfig(
        credit=Gae(level="token", gamma=0.99, lam=1.0),
        baseline=BatchMean(),
        normalise=TokenStd(),
    ),
    loss=LossConfig(
        surrogate=PolicyGradient(),
        regularise=(Entropy(coef=0.01),),
        aggregate=TokenMean(),
    ),
    critic=ValueCritic(lr=1e-3),
    optim=OptimConfig(lr=1e-3, grad_norm=1.0),
    published={
        "population.latest": Published(value=0.5, source=PAPER),
        "population.members": Published(
            value="random memory-one players", source=PAPER, why="see the header"
        ),
        "collect.episodes": Published(value=4096, source=PAPER, why=CHEAP),
        "advantage.credit.gamma": Published(value=0.99, source=PAPER),
        "advantage.credit.lam": Published(value=1.0, source=PAPER),
        "loss.regularise.entropy.coef": Published(value=0.01, source=PAPER),
        "optim.lr": Published(value=1e-3, source=PAPER),
        "optim.grad_norm": Published(value=1.0, source=PAPER),
    },
    variants={
        "learners_only": {"population.latest": 1.0},
        "members_only": {"population.latest": 0.0},
    },
)
