"""QMIX: the value of a team grows with each of its seats' values (qmix).

A small network with weights of at least 0 mixes the seats' values; its weights are those that
another network reads from the state. Each seat's best move is then part of the team's best, as in
VDN, but the values of moves may depend on what the others do. The state is what all seats see
together; the paper takes that of the simulator, and networks with memories. It needs `--model net`;
`population` says who shares a network.
"""

from dataclasses import replace

from coevo.trainers import parts as p
from coevo.trainers.algorithms.iql import ALGORITHM as IQL

PAPER = "paper, appendix; the network is the released code's"

ALGORITHM = replace(
    IQL,
    name="qmix",
    summary="values of a team by a mixer that never falls with a seat's value (--model net)",
    paper="Rashid et al. 2018, arXiv 1803.11485",
    formula=r"Q = w_2(s) \cdot \mathrm{elu}(W_1(s) q + b_1(s)) + b_2(s), \quad "
    r"W_1, w_2 \ge 0, \quad q_i = Q_i(o_i, a_i)",
    usage="--env coevo/kuhn_poker-v0 --model net:hidden=32",
    status="toy",
    shows="the two-step game of the paper",
    reproductions=("two_step_mixers",),
    cycle=(p.Explore(epsilon=1.0), p.Collect(), p.FitValues(mix=p.Qmix())),
    published={
        "cycle.fit_values.mix.units": p.Published(32, PAPER),
        "cycle.fit_values.gamma": p.Published(0.99, PAPER),
    },
)
