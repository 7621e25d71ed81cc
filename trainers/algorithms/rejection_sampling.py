"""Rejection sampling: the best of n replies is imitated, again and again (RAFT, arXiv 2304.06767).

Every task is played n times by the current policy; supervised learning then imitates the trajectory
that is worth most, of every task and seat. The rule is the paper's: the best is kept however little
it is worth, and the first where several are equal. A group of equals teaches a reply at random,
which moves nothing on average; `above` of `make_items.to` refuses what is not good enough.

Variants: `correct` keeps every reply that is worth more than a threshold, as ReST-EM (Singh et al.
2023, arXiv 2312.06585) and RAFT on verified answers (Xiong et al. 2025, arXiv 2504.11343) do; set
the threshold in the units of the task. `unselected` imitates all replies, which is the control:
self-training without selection.

Left out: temperatures above that of play, a pool of prompts that is used up, and ReST's return to
the start weights before every iteration.
"""

from coevo.trainers import parts as p

CODE = "released code (LMFlow, scripts/run_raft_align.sh)"


def _imitating(chosen: p.Best | p.Replies) -> tuple[p.AnyStep, ...]:
    learn = p.Update(losses=(p.Sft(),))
    return (p.Collect(), p.BuildBatch(), p.MakeItems(to=chosen), learn, p.FitRewards())


ALGORITHM = p.Algorithm(
    name="rejection_sampling",
    summary="the best of n plays of a task is imitated, iteration after iteration",
    paper="Dong et al. 2023, RAFT, arXiv 2304.06767",
    formula=r"L = -\log \pi(y^*), \quad y^* = \argmax_{i \le n} R(y_i), \quad y_i \sim \pi",
    status="table",
    reproductions=("best_of_n",),
    cycle=_imitating(p.Best()),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "collect.group_size": p.Published("the best eighth, prompt by prompt", CODE),
        "optim.lr": p.Published(2e-5, CODE, p.SMALL),
        "optim.epochs": p.Published(4, CODE),
    },
    variants={
        "correct": {"cycle": _imitating(p.Replies(most=None, above=0.5))},
        "unselected": {"cycle": _imitating(p.Replies(most=None))},
    },
)
