"""CORY: two copies of a model learn together, one after the other's answer (arXiv 2410.06101).

A pioneer answers, an observer answers after it has seen the pioneer's answer, and both earn the sum
of the two rewards (the environment pays it, or each seat its own and the advantage adds them up).
Each parameter set is a PPO learner with its own critic; every five updates the two exchange roles.
The cost of leaving the start model is taken off the reward of every token, in its own context.

The listing of the paper prints r(q, a1) for the observer, a slip: text and code use a2. Released
code exchanges roles by saving both models and making new trainers, so that the optimisers start
again every time; here places change, and optimisers stay with their weights (variant `fixed` does
not exchange at all). Released code takes the KL of whole distributions (`full`), here it is that of
the sampled tokens. Left out: the adaptive coefficient of the KL and the scaling of scores.
"""

from coevo.trainers import parts as p

PAPER = "paper and released code, IMDB"

ALGORITHM = p.Algorithm(
    name="cory",
    summary="a pioneer answers, an observer answers after it; they share rewards, exchange roles",
    paper="Ma et al. 2024, CORY, arXiv 2410.06101",
    formula=r"r = r(q, a_1) + r(q, a_2) - \eta \KL(\pi, \pi_\ref) \text{ for both; PPO}",
    status="table",
    shows="both sets answer alike; that they stay closer to the start model is not shown",
    reproductions=("cory_exchange",),
    population=p.Separate(exchange=5),
    collect=p.CollectConfig(episodes=256),
    advantage=p.AdvantageConfig(
        credit=p.Gae(level="token", gamma=1.0, lam=0.95),
        baseline=p.AgentMean(),
        normalise=p.AgentStd(),
        kl_in_reward=0.01,
    ),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    critic=p.ValueCritic(lr=5e-4),
    optim=p.OptimConfig(lr=5e-4, epochs=4),
    published={
        "population.exchange": p.Published(5, PAPER),
        "collect.episodes": p.Published(256, PAPER),
        "optim.epochs": p.Published(4, PAPER),
        "optim.lr": p.Published(1.41e-5, PAPER, p.SMALL),
        "advantage.kl_in_reward": p.Published(
            "0.3 (paper), 0.4 and adaptive (code); 0.01 on GSM8K",
            "paper and released code",
            "rewards here are 0 or 1, as in GSM8K",
        ),
    },
    variants={"fixed": {"population": p.Separate()}},
)
