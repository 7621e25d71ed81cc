"""Polychromic objective: sets of plays are judged, for success and for diversity (2509.25424).

f(S) = mean reward of S times the share of different labels in S; every member of a set gets
A = f(S) - mean f over the sets of the group. Leave-one-out credit would defeat the purpose. The
label is the opening move; `--set advantage.modify.share_set.label=answer` takes the last one.
Sets hold plays of one seat. `low` and `high` are the range of the outcome; one outside of it is an
error, which is why no small reward is paid beside the payoff.

Inferred: read from a page about the paper. Left out: vines (eight further plays from two states of
each trajectory, after which ordinary GAE goes on), in whose place stand the plays of one start,
cut into sets of four; and the KL to the behaviour per state, whose coefficient was not readable.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import CHEAP, RANGE
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="polychromic",
    summary="sets of plays share an advantage for success times diversity",
    paper="Hamid et al. 2025, Polychromic Objectives, arXiv 2509.25424",
    formula="A_i = f(S) - mean f, f(S) = mean_S R * (different labels in S) / |S|",
    status="inferred",
    checks=("polychromic",),
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        credit=option("outcome"),
        center=option("none"),
        scale=option("none"),
        modify=(
            option("share_set", label="opening", size=4, low=-2.0, high=2.0, by="group+agent"),
        ),
    ),
    loss=LossSpec(kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("token_mean")),
    optim=OptimSpec(lr=1e-3),
    published={
        "advantage.modify.share_set.size": Published(value=4, source="page about the paper"),
        "advantage.modify.share_set.high": Published(value=1.0, source="paper", why=RANGE),
        "sampler.group_size": Published(
            value="8 vines from 2 states", source="page about the paper", why=CHEAP
        ),
    },
)
