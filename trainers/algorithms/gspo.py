"""GSPO: one importance ratio per row, the geometric mean of its tokens' (arXiv 2507.18071).

It is clipped some thousand times tighter than a token's; every token's gradient is s_i grad logp_t.
Needs the mean over rows of the mean over tokens. With one optimiser step per update s_i = 1, hence
the two mini-batches.

The variant `turn` takes one ratio per turn, which the paper does not have, for plays of many turns.
Left out: LUSPO's factor of the length against the length bias that was found later.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="gspo",
    summary="GRPO with one ratio per row, clipped as a whole",
    paper="Zheng et al. 2025, GSPO, arXiv 2507.18071",
    formula=r"s_i = \exp(\mean_t (\log \pi_t - \log \pi_{\old,t})) \\ "
    r"L_i = -\min(s_i A_i, \clip(s_i, 1 - \epsilon_\lo, 1 + \epsilon_\hi) A_i)",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    loss=p.LossConfig(ratio_level=p.SeqGeoRatio(), surrogate=p.PpoClip(eps_lo=3e-4, eps_hi=4e-4)),
    optim=p.OptimConfig(lr=1e-3, minibatches=2),
    published={
        "loss.surrogate.eps_lo": p.Published(3e-4, "paper, as in verl and TRL"),
        "loss.surrogate.eps_hi": p.Published(4e-4, "paper, as in verl and TRL"),
        "optim.lr": p.Published(1e-6, "TRL, default", p.SMALL),
    },
    variants={"turn": {"loss.ratio_level": p.TurnRatio()}},
)
