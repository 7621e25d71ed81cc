"""ReMix: early updates reuse groups of the last policies, later ones do not (arXiv 2507.06892).

Every group is, with chance 0.4, one of the last two updates' instead of a fresh one; two passes
per update. The ratio is that to the policy that sampled, clipped around where the update starts:
-min(r A, clip(r, c - eps, c + eps) A), r = pi / pi_roll, c = pi_old / pi_roll. A KL to the start
policy turns into one to the last policy, lam from 1 to 0.5; after `until` updates everything is
fresh and the current policy becomes the reference.

Inferred: numbers are from detailed notes on the paper, its code could not be read; the KL's
coefficient is not among them and ours. The inner advantage is GRPO's; PPO would do as well.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

NOTES = "notes on the paper"

ALGORITHM = Algorithm(
    name="remix",
    summary="GRPO on fresh and replayed groups, with a clip around the old ratio",
    paper="Liang et al. 2025, Squeeze the Soaked Sponge, arXiv 2507.06892",
    formula="loss = -min(r A, clip(r, c +- eps) A) + beta (lam KL(pi, ref) + (1-lam) KL(pi, old))",
    status="inferred",
    rewards=(option("format", legal=0.05),),
    sampler=SamplerSpec(
        episodes=512, group_size=8, replay=option("remix", share=0.4, last=2, until=50)
    ),
    advantage=AdvantageSpec(
        credit=option("outcome"), center=option("group"), scale=option("group_std"), eps=1e-6
    ),
    loss=LossSpec(
        kind=option("remix", eps_lo=0.2, eps_hi=0.2),
        regularise=(option("kl_convex", coef=0.001, least=0.5, fall=0.1, after=50, every=10),),
        aggregate=option("token_mean"),
    ),
    optim=OptimSpec(lr=1e-3, epochs=2),
    published={
        "optim.epochs": Published(value=2, source=NOTES),
        "sampler.replay.share": Published(value=0.4, source=NOTES),
        "sampler.replay.last": Published(value=2, source=NOTES),
        "sampler.replay.until": Published(value="50 or 100", source=NOTES),
    },
)
