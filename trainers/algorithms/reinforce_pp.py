"""REINFORCE++: token returns with KL in the reward, whitened over the batch (arXiv 2501.03262).

A turn's reward stands on its last token. Mean and deviation are those of all policy tokens of the
batch, so longer replies weigh more in both. One play per start is enough: nothing is compared
inside a group. Statistics are those of the whole batch, never of a micro-batch or a start (per
start it would be GRPO).

Left out: rewards clipped to [-10, 10], since payoffs of games are bounded.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="reinforce_pp",
    summary="token returns with KL in the reward, whitened over the batch; no group, no critic",
    paper="Hu et al. 2025, REINFORCE++, arXiv 2501.03262",
    formula=r"A_t = \whiten_\tokens Y_t \\ Y_t = \sum_{t' \ge t} \left( r_{t'} - \beta (\log "
    r"\pi_{\old,t'} - \log \pi_{\ref,t'}) \right)",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(
        credit=p.ToGo(gamma=1.0, level="token"),
        baseline=p.BatchMean(),
        normalise=p.TokenStd(),
        kl_in_reward=0.01,
    ),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.kl_in_reward": p.Published(0.01, "OpenRLHF, default"),
        "optim.lr": p.Published(1e-6, "OpenRLHF, default", p.SMALL),
    },
    variants={"no_kl": {"advantage.kl_in_reward": 0.0}},
)
