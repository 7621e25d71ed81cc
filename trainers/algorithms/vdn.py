"""VDN: the value of a team is the sum of its seats' values (vdn).

Q(o, a) = sum_i Q_i(o_i, a_i), learnt from the team's reward alone; every seat plays the best move
of its own part. The reward is the mean over the seats here, the team's own where all are paid
alike. The paper's networks have memories; ours read one array. It needs `--model net`; `population`
says who shares a network.
"""

from dataclasses import replace

from coevo.trainers import parts as p
from coevo.trainers.algorithms.iql import ALGORITHM as IQL

ALGORITHM = replace(
    IQL,
    name="vdn",
    summary="values of a team as the sum of its seats' values (--model net)",
    paper="Sunehag et al. 2018, arXiv 1706.05296",
    formula=r"Q = \sum_i Q_i(o_i, a_i), \quad y = r + \gamma \sum_i \max_a Q^-_i(o'_i, a)",
    usage="--env coevo/kuhn_poker-v0 --model net:hidden=32",
    status="toy",
    shows="a sum of rewards is taken apart; what no sum can say is missed as theory says",
    reproductions=("additive_team", "two_step_mixers"),
    cycle=(p.Explore(epsilon=1.0), p.Collect(), p.FitValues(mix=p.Vdn())),
    published={},
)
