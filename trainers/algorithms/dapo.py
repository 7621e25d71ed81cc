"""DAPO: GRPO with a higher upper clip, token mean, and only groups that inform (arXiv 2503.14476).

Clip-higher (0.2, 0.28) with the ceiling of the dual clip; the mean over all tokens of the batch;
no KL. Groups whose outcomes are all equal are replaced by further plays, up to ten generation
batches, then an error; the surplus is cut off. The outcome that decides is the payoff alone:
with the overlong charge in it hardly two rewards would be equal. `wasted` is logged.

In games whose good play is deterministic every group ends up equal, and the run stops with that
error: use `--set sampler.select=all` there. The overlong charge counts tokens of one reply from
`longest - buffer` on: set both to suit `--max-new-tokens`.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="dapo",
    summary="GRPO with a higher upper clip, token mean, dynamic sampling and overlong charge",
    paper="Yu et al. 2025, DAPO, arXiv 2503.14476",
    formula="A as in GRPO; keep groups with 0 < accuracy < 1; loss = clip(0.2, 0.28), token mean",
    status="vectors",
    rewards=(
        option("format", legal=0.05),
        option("overlong", longest=20480, buffer=4096, factor=1.0),
    ),
    sampler=SamplerSpec(
        episodes=512, group_size=8, select=option("dynamic", low=-1e6, high=1e6, tries=10)
    ),
    advantage=AdvantageSpec(
        credit=option("outcome"), center=option("group"), scale=option("group_std"), eps=1e-6
    ),
    loss=LossSpec(
        kind=option("dual_clip", eps_lo=0.2, eps_hi=0.28, c=10.0), aggregate=option("token_mean")
    ),
    optim=OptimSpec(lr=1e-3, minibatches=2),
    published={
        "loss.kind.eps_hi": Published(value=0.28, source="paper"),
        "loss.kind.c": Published(value=10.0, source="released recipe in verl"),
        "optim.lr": Published(value=1e-6, source="paper", why=SMALL),
        "rewards.overlong.longest": Published(value=20480, source="paper"),
        "rewards.overlong.buffer": Published(value=4096, source="paper"),
        "sampler.select": Published(
            value="dynamic(low=0, high=1, tries=10)",
            source="paper, released recipe",
            why="an accuracy there, any payoff here: equal outcomes are what is dropped",
        ),
    },
)
