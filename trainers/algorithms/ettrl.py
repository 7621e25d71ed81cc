"""ETTRL: label-free learning from trees that branch where the policy is unsure (arXiv 2508.11356).

The label is the vote of the group, as in TTRL. ETMR: a group is not so many whole replies, but two
roots and branches that keep the beginning of a root up to one of its least likely tokens, so that
about 60 % of the tokens are sampled. EAR: trajectories that are unsure weigh less.

Entropies are estimated by -log p of the sampled tokens. Trees grow in the first reply of an
episode, so that questions with one reply are what this is for. The variant `whole` has no trees,
`plain` no EAR either, which is TTRL with groups of 14.
"""

from coevo.trainers import parts as p

PAGE = "pages about the paper"

ALGORITHM = p.Algorithm(
    name="ettrl",
    summary="GRPO on the group's vote, with trees of replies and an advantage by entropy",
    paper="Liu et al. 2025, ETTRL, arXiv 2508.11356",
    formula=r"A'_i = A_i (1 + \frac{\mean H - H_i}{\mean H}) \\ "
    r"M (1 + B N) \text{ replies of } M \text{ roots}",
    status="model",
    shows="fewer sampled tokens for as many replies; no gain in right answers",
    reproductions=("ettrl_trees",),
    rewards=(p.Majority(),),
    collect=p.CollectConfig(episodes=14 * 16, group_size=14, component="majority", trees=p.Trees()),
    advantage=p.AdvantageConfig(reward_weights={"payoff": 0.0}, transform=(p.EntropyReshape(),)),
    optim=p.OptimConfig(lr=1e-3),
    published={"collect.trees": p.Published("N = 3, B = 2", PAGE)},
    variants={
        "whole": {"collect.trees": None},
        "plain": {"collect.trees": None, "advantage.transform": ()},
    },
)
