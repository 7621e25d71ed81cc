"""UPO: preference optimisation on pairs whose labels an estimator is certain of.

In every round replies of the policy are compared, which labels pairs. An estimator with dropout is
asked ten times about each: pairs whose label most answers contradict are dropped; of the others,
half are drawn by how certain it is (1 - BALD) and half by how uncertain (BALD). DPO learns from
them, with the policy at the start of the round as reference. The released trainer is plain DPO:
uncertainty enters by the choice of pairs alone.

Left out: the estimator is fitted to the labels of its own round, a small network on the tokens of
replies; the paper fine-tunes a language model on labelled pairs first. A loss weighted by
uncertainty, of which the abstract speaks, could not be read.
"""

from coevo.trainers import parts as p

CODE = "released code, wjn1996/UPO2"

ALGORITHM = p.Algorithm(
    name="upo",
    summary="DPO on pairs whose labels an estimator under dropout agrees with",
    paper="Wang et al. 2024, UPO, arXiv 2409.11212",
    formula=r"\BALD = H[\mean_t p_t] - \mean_t H[p_t] \text{ chooses the pairs} \\ "
    r"L = -\log \sigma(\beta (D_w - D_l)), \quad D = \log (\pi / \pi_\ref)",
    status="toy",
    shows="pairs are right more often, and worth is not lost",
    reproductions=("upo_noise",),
    cycle=(
        p.UpdateReference(),
        p.Collect(),
        p.BuildBatch(),
        p.MakeItems(to=p.Pairs()),
        p.FilterPairs(),
        p.Update(losses=(p.Dpo(beta=0.1),)),
        p.FitRewards(),
    ),
    collect=p.CollectConfig(episodes=384, group_size=6),
    optim=p.OptimConfig(lr=1e-4),
    published={
        "collect.group_size": p.Published(6, CODE),
        "collect.episodes": p.Published("all prompts, 3 rounds", CODE, p.CHEAP),
        "optim.lr": p.Published(5e-6, CODE, p.SMALL),
    },
    variants={
        "dpo": {
            "cycle": (
                p.UpdateReference(),
                p.Collect(),
                p.BuildBatch(),
                p.MakeItems(to=p.Pairs()),
                p.Update(losses=(p.Dpo(beta=0.1),)),
                p.FitRewards(),
            )
        }
    },
)
