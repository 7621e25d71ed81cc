"""Co-Reward: the vote on another wording of a question is the label (arXiv 2508.00410).

Two seats are asked the same question in different words (`coevo/debate-v0` with `rounds=1,
agents=2, wordings=4`); an answer earns 1 if it is that of the majority of the answers to other
wordings, and is compared with those of its own seat. What is right is never paid. Where the errors
of wordings are the same nothing is gained over the variant `own`, the vote of TTRL; with two
wordings alone, each takes over the other's answer, right or wrong.

Wordings are given by the source of questions; the paper has a model write one.
"""

from coevo.trainers import parts as p

PAGE = "paper"

ALGORITHM = p.Algorithm(
    name="co_reward",
    summary="the vote on a paraphrase of the question is the label",
    paper="Zhang et al. 2025, Co-Reward, arXiv 2508.00410",
    formula=r"r(y) = 1[a(y) = \argmax_a \sum_j 1[a(y'_j) = a]], \quad y' \text{ replies to the "
    r"paraphrase}",
    status="table",
    shows="a gain with four wordings whose errors differ, and none with two",
    reproductions=("co_reward_views",),
    rewards=(p.Majority(label="others"),),
    collect=p.CollectConfig(episodes=256, group_size=8, component="majority"),
    advantage=p.AdvantageConfig(
        reward_weights={"payoff": 0.0},
        credit=p.Outcome(),
        baseline=p.GroupMean(by="group+agent"),
        normalise=p.GroupStd(by="group+agent"),
    ),
    loss=p.LossConfig(
        surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2),
        regularise=(p.Kl(kind="k3", coef=0.005),),
        aggregate=p.SeqMeanTokenMean(),
    ),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "collect.episodes": p.Published("128 questions x 8", PAGE, p.CHEAP),
        "optim.lr": p.Published(3e-6, PAGE, p.SMALL),
    },
    variants={"own": {"rewards": (p.Majority(label="same"),)}},
)
