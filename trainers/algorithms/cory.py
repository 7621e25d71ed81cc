"""CORY: two copies of a model learn together, one after the other's answer (arXiv 2410.06101).

A pioneer answers, an observer answers after it has seen the pioneer's answer, and both earn the sum
of the two rewards (the environment pays it, or each seat its own and the advantage adds them up).
Each parameter set is a PPO learner with its own critic; every five updates the two exchange roles.
The cost of leaving the start model is taken off the reward of every token, in its own context.

The listing of the paper prints r(q, a1) for the observer, a slip: text and code use a2. Released
code exchanges roles by saving both models and making new trainers, so that the optimisers start
again every time; here places change, and optimisers stay with their weights (variant `fixed` does
not exchange at all). Left out: the adaptive coefficient of the KL and the scaling of scores.
"""

from coevo.agents.population import Separate
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
    AgentMean,
    Gae,
    LossConfig,
    NoNormalisation,
    PpoClip,
    TokenMean,
)

PAPER = "paper and released code, IMDB"

ALGORITHM = Algorithm(
    name="cory",
    summary="a pioneer answers, an observer answers after it; they share rewards, exchange roles",
    paper="Ma et al. 2024, CORY, arXiv 2410.06101",
    formula=r"r = r(q, a_1) + r(q, a_2) - \eta \KL(\pi, \pi_\ref) \text{ for both; PPO}",
    status="toy",
    shows="both sets answer alike; that they stay closer to the start model is not shown",
    reproductions=("cory_exchange",),
    population=Separate(exchange=5),
    collect=CollectConfig(episodes=256),
    advantage=AdvantageConfig(
        credit=Gae(level="token", gamma=1.0, lam=0.95),
        baseline=AgentMean(),
        normalise=NoNormalisation(),
        kl_in_reward=0.01,
    ),
    loss=LossConfig(surrogate=PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=TokenMean()),
    critic=ValueCritic(lr=5e-4),
    optim=OptimConfig(lr=5e-4, epochs=4),
    published={
        "population.exchange": Published(value=5, source=PAPER),
        "collect.episodes": Published(value=256, source=PAPER),
        "optim.epochs": Published(value=4, source=PAPER),
        "optim.lr": Published(value=1.41e-5, source=PAPER, why=SMALL),
        "advantage.kl_in_reward": Published(
            value="0.3, adaptive in the code; 0.01 on GSM8K",
            source="paper and released code",
            why="rewards here are 0 or 1, as in GSM8K",
        ),
    },
    variants={"fixed": {"population": Separate()}},
)
