"""COPO: groups that agree learn from how they compare with other groups (arXiv 2508.04138).

GRPO inside the group, and the group's mean against the means of all groups. Answers are the last
moves. Where all plays end alike, GRPO is silent and the global part speaks; starts that are all won
are pushed up, all lost down. Groups are those of a start and seat.

Inferred: read in the abstract and on pages of reviews. gamma, rho and the paper's special case for
groups that are all wrong are not public (`global_only_if_any_correct` is one reading). The paper
blends losses, which is the same until a ratio is clipped.
"""

from coevo.trainers import parts as p

PAGE = "pages about the paper"

ALGORITHM = p.Algorithm(
    name="copo",
    summary="GRPO, and where a group agrees its mean against those of other groups",
    paper="Han et al. 2025, COPO, arXiv 2508.04138",
    formula=r"A = w A_\GRPO + (1 - w) \frac{m_g - \mean m}{\std m + \epsilon}, \quad m_g = "
    r"\mean_g R \\ w = \sigmoid(5 (H - 0.5)), \quad H = \text{entropy of the answers of } g",
    status="inferred",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(
        baseline=p.GroupMean(by="group+agent"),
        normalise=p.GroupStd(by="group+agent"),
        transform=(p.BlendGlobal(gamma=5.0, rho=0.5, by="group+agent"),),
    ),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "optim.lr": p.Published(1e-6, PAGE, p.SMALL),
        "collect.episodes": p.Published("512 prompts", PAGE, p.CHEAP),
        "collect.group_size": p.Published(6, PAGE),
    },
)
