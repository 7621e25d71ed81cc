"""TOPR: good rows are imitated in full, bad ones only while the policy writes them (2503.14286).

s is the ratio of the whole row: with terse prompts one reply; of a token in Trinity-RFT, `--set
loss.ratio_level=token_ratio`. Stable on plays of an older policy without KL or clip. The paper's
rewards are +1 and -1 with a baseline that sets their proportion; here it is the group mean.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="topr",
    summary="REINFORCE whose bad rows weigh at most their importance ratio",
    paper="Le Roux et al. 2025, TOPR, arXiv 2503.14286",
    formula=r"L = -\alpha A \log \pi \\ \alpha = 1 \text{ if } A > 0, \text{ else } "
    r"\clip(\prod_t s_t, 0, 1)",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(normalise=p.NoNormalisation()),
    loss=p.LossConfig(
        ratio_level=p.SeqProdRatio(), surrogate=p.Topr(), aggregate=p.SeqMeanTokenSum()
    ),
    optim=p.OptimConfig(lr=1e-3, minibatches=2),
)
