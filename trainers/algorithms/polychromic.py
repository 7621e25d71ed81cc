"""Polychromic objective: sets of plays are judged, for success and for diversity (2509.25424).

Every member of a set gets its advantage over the sets of the group. Leave-one-out credit would
defeat the purpose. The label is the first move; `--set advantage.transform.share_set.label=answer`
takes the last one. Sets hold plays of one seat. What counts as success is what the environment can
pay, which is why no small reward is paid beside the payoff.

Inferred: read from a page about the paper. Left out: vines (eight further plays from two states of
each trajectory, after which ordinary GAE goes on), in whose place stand the plays of one start, cut
into sets of four; and the KL to the behaviour per state, whose coefficient was not readable.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="polychromic",
    summary="sets of plays share an advantage for success times diversity",
    paper="Hamid et al. 2025, Polychromic Objectives, arXiv 2509.25424",
    formula=r"A_i = f(S) - \mean f, \quad i \in S \\ f(S) = \mean_S R \cdot "
    r"\frac{\text{different labels in } S}{|S|}",
    status="inferred",
    shows="two arms of a bandit; the source explores grid worlds",
    reproductions=("polychromic",),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(
        baseline=p.NoBaseline(),
        normalise=p.NoNormalisation(),
        transform=(p.ShareSet(label="first_move", size=4, by="group+agent"),),
    ),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.transform.share_set.size": p.Published(4, "page about the paper"),
        "collect.group_size": p.Published("8 vines from 2 states", "page about the paper", p.CHEAP),
    },
)
