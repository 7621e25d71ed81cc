"""BuPO: an inner layer's policy learns first, then the whole one (arXiv 2512.19673).

The output layer, applied to the states behind layer l, is a policy too: pi_l = softmax(E h_l). For
a few updates GRPO learns on pi_l, at tokens that the whole policy has drawn, so that the lower
layers and the output layer alone move; afterwards it is GRPO.

How many updates: `schedules`, here 20. The released code applies no norm to the states; the variant
`normed` does. The learner takes one step per update, so that the ratio is 1 under either policy. Of
a small model that shares no embeddings pi_l is near to noise. Left out: the entropy of every
layer's policy in the log. That a few updates on an inner layer help is not reproduced with the
starter model (claim `inner_layer_sums`).
"""

from coevo.trainers import parts as p

CODE = "released code"
LAYER = "cycle.update.losses.inner_policy.layer"

ALGORITHM = p.Algorithm(
    name="bupo",
    summary="GRPO on the policy of an inner layer at first, then on the whole",
    paper="Tan et al. 2025, BuPO, arXiv 2512.19673",
    formula=r"\pi_l = \softmax(E h_l), \quad L = L_{\text{GRPO}}(\pi_l) \text{ for } n \text{ "
    r"updates, then } L_{\text{GRPO}}(\pi)",
    status="composed",
    shows="negative: on sums a small model gains nothing from an inner layer, once seeds are fresh",
    reproductions=("inner_layer_sums",),
    cycle=(
        p.Collect(),
        p.BuildBatch(),
        p.ComputeAdvantages(),
        p.Update(losses=(p.InnerPolicy(layer=1),)),
        p.FitRewards(),
    ),
    schedules={LAYER: p.Steps(values=(0.0,), every=20)},
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    optim=p.OptimConfig(lr=1e-3),
    variants={"normed": {"cycle.update.losses.inner_policy.norm": "final"}},
)
