"""CoMAM: agents of a pipeline learn from their own rewards and a share of the outcome of all.

Every agent has a reward of its own (`local`) beside the one that all share, the right answer. In a
group of plays of one task the shared one is added with a weight that says how well an agent's own
reward orders the plays as the outcome does (`rank_consistency`); then GRPO, agent by agent.
`local_only` and `unweighted` (each has the same share, 1/3 for three agents) are the controls.

The world is `coevo/memory_pipeline-v0`, whose exact evidence takes the place of the judge that
grades profiles. The paper trains two models; here every role has parameters of its own.
"""

from coevo.trainers import parts as p

PAGE = "the paper's page"

ALGORITHM = p.Algorithm(
    name="comam",
    summary="local rewards, and a share of the outcome by how well both order the plays",
    paper="Mao et al. 2026, CoMAM, arXiv 2603.12631",
    formula=r"r_n \leftarrow r_n + w_n r_g, \quad w = \operatorname{softmax}_n NDCG_n(r_g)",
    status="toy",
    shows="where an own reward misleads, the share of the outcome mends it",
    reproductions=("comam_chain",),
    usage="--env coevo/memory_pipeline-v0",
    population=p.ByRole(),
    collect=p.CollectConfig(episodes=256, group_size=8),
    advantage=p.AdvantageConfig(
        compose=p.RankConsistency(),
        credit=p.Outcome(),
        baseline=p.GroupMean(by="group+agent"),
        normalise=p.GroupStd(by="group+agent"),
    ),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.SeqMeanTokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={"population": p.Published("models of 3 and of 7 to 8 billion", PAGE, p.SMALL)},
    variants={
        "local_only": {
            "advantage.compose": p.WeightedSum(),
            "advantage.reward_weights": {"payoff": 0.0},
        },
        "unweighted": {
            "advantage.compose": p.WeightedSum(),
            "advantage.reward_weights": {"payoff": 1 / 3},
        },
    },
)
