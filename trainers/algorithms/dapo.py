"""DAPO: GRPO with a higher upper clip, token mean, and only groups that inform (arXiv 2503.14476).

Clip-higher (0.2, 0.28) with the ceiling of the dual clip; the mean over all tokens of the batch;
no KL. Groups whose outcomes are all equal are replaced by further plays, up to ten generation
batches, then an error; the surplus is cut off. The outcome that decides is the payoff alone:
with the overlong charge in it hardly two rewards would be equal. `wasted` is logged.

In games whose good play is deterministic every group ends up equal, and the run stops with that
error: use `--set collect.select=keep_all` there. The overlong charge counts tokens of one reply
from `longest - buffer` on: set both to suit `--max-new-tokens`.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="dapo",
    summary="GRPO with a higher upper clip, token mean, dynamic sampling and overlong charge",
    paper="Yu et al. 2025, DAPO, arXiv 2503.14476",
    formula=r"A_i = \frac{R_i - \mean_g R}{\std_g R + \epsilon}, \quad \text{groups with } 0 < "
    r"\text{accuracy} < 1 \\ L_t = -\min(s_t A, \clip(s_t, 1 - 0.2, 1 + 0.28) A)",
    status="vectors",
    rewards=(p.Format(legal=0.05), p.OverlongPenalty(longest=20480, buffer=4096, factor=1.0)),
    collect=p.CollectConfig(
        episodes=512, group_size=8, select=p.KeepDynamic(low=-1e6, high=1e6, tries=10)
    ),
    loss=p.LossConfig(
        surrogate=p.DualClip(eps_lo=0.2, eps_hi=0.28, c=10.0), aggregate=p.TokenMean()
    ),
    optim=p.OptimConfig(lr=1e-3, minibatches=2),
    published={
        "loss.surrogate.eps_hi": p.Published(0.28, "paper"),
        "loss.surrogate.c": p.Published(10.0, "released recipe in verl"),
        "optim.lr": p.Published(1e-6, "paper", p.SMALL),
        "rewards.overlong_penalty.longest": p.Published(20480, "paper"),
        "rewards.overlong_penalty.buffer": p.Published(4096, "paper"),
        "collect.select": p.Published(
            "dynamic(low=0, high=1, tries=10)",
            "paper, released recipe",
            "an accuracy there, any payoff here: equal outcomes are what is dropped",
        ),
    },
)
