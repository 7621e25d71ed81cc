"""ReMix: early updates reuse groups of the last policies, later ones do not (arXiv 2507.06892).

Every group is, with chance 0.4, one of the last two updates' instead of a fresh one; two passes per
update. The ratio is that to the policy that sampled, clipped around where the update starts. A KL
to the start policy turns into one to the last policy, lam from 1 to 0.5; after `until` updates
everything is fresh and the current policy becomes the reference.

The last policy is the one that the update starts from, which the last update left behind; so at
the first step of an update the second KL is 0. Group advantages of replayed groups are those of
their own outcomes. `--set collect.replay=remix_replay` on another algorithm (`grpo`) replays
without this clip, and is refused where the ratio does not see who sampled: add `--set
loss.anchor=behaviour`.

Inferred: numbers are from detailed notes on the paper, its code could not be read; the KL's
coefficient is not among them and ours. The inner advantage is GRPO's; PPO would do as well.
"""

from coevo.trainers import parts as p

NOTES = "notes on the paper"

ALGORITHM = p.Algorithm(
    name="remix",
    summary="GRPO on fresh and replayed groups, with a clip around the old ratio",
    paper="Liang et al. 2025, Squeeze the Soaked Sponge, arXiv 2507.06892",
    formula=r"L = -\min(r A, \clip(r, c - \epsilon, c + \epsilon) A) + \beta (\lambda \KL(\pi, "
    r"\pi_\ref) + (1 - \lambda) \KL(\pi, \pi_\old)) \\ r = \pi / \pi_\behaviour, \quad c = "
    r"\pi_\old / \pi_\behaviour",
    status="inferred",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(
        episodes=512, group_size=8, replay=p.RemixReplay(share=0.4, last=2, until=50)
    ),
    loss=p.LossConfig(
        surrogate=p.RemixClip(eps_lo=0.2, eps_hi=0.2),
        regularise=(p.ConvexKl(coef=0.001, least=0.5, fall=0.1, after=50, every=10),),
        aggregate=p.TokenMean(),
    ),
    optim=p.OptimConfig(lr=1e-3, epochs=2),
    published={
        "optim.epochs": p.Published(2, NOTES),
        "collect.replay.share": p.Published(0.4, NOTES),
        "collect.replay.last": p.Published(2, NOTES),
        "collect.replay.until": p.Published("50 or 100", NOTES),
    },
)
