"""Independent Q-learning: every seat values its own moves, with a deep Q-network (iql).

Seats learn as if they were alone (Tan 1993; Tampuu et al. 2017, arXiv 1511.08779), by the rules of
DQN: replayed transitions, targets of slow copies, random moves that become rare. Targets are double
(van Hasselt et al. 2016, arXiv 1509.06461). `population` says who shares a network: `shared` all,
`grouped` some, `separate` none. It needs `--model net`. The paper's 10^6 transitions are 10^4 here,
and its copies are taken every 10^4 steps.
"""

from coevo.trainers import parts as p

DQN = "Mnih et al. 2015, Nature 518, table 1"

ALGORITHM = p.Algorithm(
    name="iql",
    summary="independent deep Q-learning: replay, slow copies, double targets (--model net)",
    paper="Tampuu et al. 2017, arXiv 1511.08779; Mnih et al. 2015, Nature 518",
    formula=r"y = r_i + \gamma Q^-_i(o'_i, \argmax_a Q_i(o'_i, a)), \quad "
    r"L = \mean (Q_i(o_i, a_i) - y)^2",
    usage="--env coevo/kuhn_poker-v0 --model net:hidden=32",
    cycle=(p.Explore(epsilon=1.0), p.Collect(), p.FitValues()),
    collect=p.CollectConfig(episodes=16, group_size=1),
    magnet=p.SnapshotMagnet(every=10),
    optim=p.OptimConfig(lr=1e-3, warmup=0, beta2=0.999, grad_norm=10.0),
    schedules={"cycle.explore.epsilon": p.Linear(to=0.05, over=100)},
    published={
        "cycle.explore.epsilon": p.Published(1.0, DQN),
        "cycle.fit_values.capacity": p.Published(1_000_000, DQN, p.CHEAP),
        "cycle.fit_values.batch": p.Published(32, DQN, "small networks"),
        "magnet": p.Published("every 10,000 steps", DQN, p.CHEAP),
    },
    variants={
        "grouped": {"population": p.Grouped(groups=2)},
        "separate": {"population": p.Separate()},
    },
)
