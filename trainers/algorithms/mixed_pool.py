"""Mixed pool: learners meet one another and players that never learn, and are not told which.

Half of the episodes are played against other learners, half against memory-one players of the
repeated prisoner's dilemma, whose five probabilities were drawn at random, evenly in 0..1: one of
64 for each episode. Whoever does not know whom it meets must find out from what is played, and
answer it; learners that answer so can be extorted, and by the paper extort one another into
cooperation. Independent actor-critic: no learner looks into another, and none learns faster.

Ours: 64 players stand for all. The source trains sequence models, which recall the whole episode;
what a policy of ours recalls is a matter of the environment (`env_options.memory`). Left out: the
paper's planning with a model of the sequence (PPI). Variants: `learners_only`, the paper's control,
and `members_only`; `decided`, players from Beta(0.1, 0.1), whom it pays more to tell apart;
`strategies`, four by name that answer a defection or always defect; `prioritised`, ours, draws
opponents that are hard to beat more often.
"""

from coevo.trainers import parts as p

PAPER = "paper, A2C"
PLAYERS = tuple(f"memory_one:{number}" for number in range(64))
DECIDED = tuple(f"{name}/0.1" for name in PLAYERS)

ALGORITHM = p.Algorithm(
    name="mixed_pool",
    summary="learners meet learners and memory-one players, and are not told which",
    paper="Weis et al. 2026, in-context co-player inference, arXiv 2602.16301",
    formula=r"A_t = \sum_k \gamma^k r_{t+k} - V_t \\ \text{opponent} \sim \frac{1}{2} \text{ "
    r"learners} + \frac{1}{2} \text{ memory-one players}",
    status="table",
    shows="negative: among random players learners defect; chosen ones make them cooperate",
    reproductions=("pool_cooperation",),
    usage="--env coevo/iterated_game-v0",
    population=p.PastSelves(size=0, latest=0.5, learners=2, members=PLAYERS),
    collect=p.CollectConfig(episodes=256),
    advantage=p.AdvantageConfig(
        credit=p.Gae(level="token", gamma=0.99, lam=1.0),
        baseline=p.BatchMean(),
        normalise=p.TokenStd(),
    ),
    loss=p.LossConfig(
        surrogate=p.PolicyGradient(), regularise=(p.Entropy(coef=0.01),), aggregate=p.TokenMean()
    ),
    critic=p.ValueCritic(lr=1e-3),
    optim=p.OptimConfig(lr=1e-3, grad_norm=1.0),
    published={
        "population.latest": p.Published(0.5, PAPER),
        "population.members": p.Published("drawn anew for each episode", PAPER, "64 of them"),
        "collect.episodes": p.Published(4096, PAPER, p.CHEAP),
        "advantage.credit.gamma": p.Published(0.99, PAPER),
        "advantage.credit.lam": p.Published(1.0, PAPER),
        "loss.regularise.entropy.coef": p.Published(0.01, PAPER),
        "optim.lr": p.Published(1e-3, PAPER),
        "optim.grad_norm": p.Published(1.0, PAPER),
    },
    variants={
        "learners_only": {"population.latest": 1.0},
        "members_only": {"population.latest": 0.0},
        "decided": {"population.members": DECIDED},
        "strategies": {"population.members": ("always_d", "tft", "gtft", "grim")},
        "prioritised": {"population.draw": p.Prioritised()},
    },
)
