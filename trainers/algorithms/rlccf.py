"""RLCCF: several models vote on a question without a label, and each learns from the vote.

Every model draws K answers to a question. A model's votes count as much as it agrees with itself
(the share of its most common answer), the answer with the most support is the label, and a reply
that gives it earns 1. Each model is a GRPO learner of its own, with a group of its own and a KL to
its start. `votes` counts every vote alike. The environment is one round of a debate: nobody sees
what others say (`coevo/debate-v0` with `rounds=1`). What is right is logged and never paid.

The paper reports neither K, the learning rate nor the weight of the KL. Ties: it names no rule;
here each of m answers that tie earns 1 / m. Groups in which all agree teach nothing.
"""

from coevo.trainers import parts as p

PAPER = "paper"

ALGORITHM = p.Algorithm(
    name="rlccf",
    summary="several models vote, weighted by self-consistency; each learns from the vote",
    paper="Yuan et al. 2025, RLCCF, arXiv 2508.12338",
    formula=r"a^* = \argmax_a \sum_n SC_n \sum_k 1[o_{n,k} = a] \\ "
    r"A_{n,k} = \frac{r_{n,k} - \mean_k r}{\std_k r + \epsilon}, \quad r = 1[o_{n,k} = a^*]",
    status="table",
    shows="each model alone becomes right more often; that the vote of all does is not shown",
    reproductions=("rlccf_votes",),
    population=p.Separate(),
    rewards=(p.Majority(weights="consistency"),),
    collect=p.CollectConfig(episodes=256, group_size=16),
    advantage=p.AdvantageConfig(
        reward_weights={"payoff": 0.0},
        credit=p.Outcome(),
        baseline=p.GroupMean(by="group+agent"),
        normalise=p.GroupStd(by="group+agent"),
    ),
    loss=p.LossConfig(
        surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2),
        regularise=(p.Kl(kind="k3", coef=0.001),),
        aggregate=p.SeqMeanTokenMean(),
    ),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "population": p.Published("four models of 7 to 9 billion parameters", PAPER, p.SMALL),
    },
    variants={"votes": {"rewards": (p.Majority(),)}},
)
