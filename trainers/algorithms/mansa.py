"""MANSA: independent learners call a centre where joint learning is worth its cost (mansa).

A switching agent decides at every time-step whether all seats play the joint move that a centre
values highest, or each the move that it values itself. It earns the team's reward less a cost per
call; seats and centre learn from all that is played. Where seats do as well by themselves, a call
is worth nothing.

Inferred: only the abstract could be read. Ours: the form of the switching agent, Q-learning for it
and for both kinds of learners, and a constant cost; the paper also has a budget of calls. What is
handed out at the end is the network of the seats alone. The centre reads what all seats see, and
values every joint move, so that it needs few seats with few moves. Variants: `independent` never
calls, `central` always does.
"""

from dataclasses import replace

from coevo.trainers import parts as p
from coevo.trainers.algorithms.iql import ALGORITHM as IQL

ALGORITHM = replace(
    IQL,
    name="mansa",
    summary="independent values, and a centre that is called where it is worth it (--model net)",
    paper="Mguni et al. 2023, MANSA, arXiv 2302.05910",
    formula=r"G(s, g) = r - c g + \gamma \max_{g'} G^-(s', g'), \quad "
    r"a = \argmax_a Q(s, a) \text{ if } g = 1 \text{ else } (\argmax_{a_i} Q_i(o_i, a_i))_i",
    status="toy",
    shows="finds what independent learners miss, and calls the less the more a call costs",
    reproductions=("mansa_switch",),
    cycle=(p.Explore(epsilon=1.0), p.Collect(), p.FitValues(mix=p.Switch())),
    published={},
    variants={
        "independent": {"cycle.fit_values.mix": "no_mix"},
        "central": {"cycle.fit_values.mix.always": True},
    },
)
