"""MAMQL: rewards of every seat, recovered from demonstrations by inverse soft Q-learning.

Each seat has a Q of its own moves alone, marginalised over the policies of the others, and plays
exp(lambda Q). IQ-Learn's objective is fitted to demonstrated transitions; the reward of a move is
then Q(s, a) - gamma E V(s'). The policy that explains a seat is learnt at the same time.

The abstract and summaries were read; the objective is IQ-Learn's (arXiv 2106.12142), all numbers
are ours. Moves of others are marginalised by the demonstrations, in which they stand as they were
drawn; learning online is left out. It needs `--model table`: the tokens of a language model are
no moves, and demonstrations have no arrays.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="mamql",
    summary="inverse soft Q-learning on demonstrations, one Q a seat (--model table)",
    paper="Haynam et al. 2025, MAMQL, arXiv 2503.04679",
    formula=r"\max E_D [\phi(Q_i(s, a_i) - \gamma V_i(s'))] - E_D [V_i(s) - \gamma V_i(s')] \\ "
    r"V_i = \frac{1}{\lambda} \log \sum_a e^{\lambda Q_i(s, a)}, \quad \phi(x) = x - "
    r"\frac{x^2}{4 \alpha}",
    status="toy",
    shows="rewards of two seats of a random game are recovered, by imitation no worse",
    reproductions=("mamql_rewards",),
    usage="--env coevo/kuhn_poker-v0 --model table",
    cycle=(p.Demonstrate(by="expert:1"), p.InverseSoftQ()),
    population=p.Separate(),
    collect=p.CollectConfig(episodes=16, group_size=1),
    optim=p.OptimConfig(lr=1e-3, warmup=0),
)
