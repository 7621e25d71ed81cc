"""Skywork-OR1: an entropy bonus that switches itself on when entropy is low (arXiv 2505.22312).

The coefficient c goes up by 0.005 after every update that ends at or below the target entropy and
down otherwise, in [0, 1]; the bonus -c H applies only while entropy is at or below the target.

Read from huggingface/trl@f2cd57710, which decides by the entropy of the update before, as here.
Left out: the recipe around it (filters of the data, stages of length, temperature 1), which belongs
to a run. Groups of equal outcomes teach nothing here either.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="skywork",
    summary="GRPO with an entropy bonus that is on while entropy is low",
    paper="He et al. 2025, Skywork-OR1, arXiv 2505.22312",
    formula=r"L = L_\clip - c H \, 1[H \le H^*] \\ c \leftarrow \clip(c \pm 0.005, 0, 1), \quad "
    r"+ \text{ if } H \le H^*",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    loss=p.LossConfig(
        regularise=(p.AdaptiveEntropy(coef=0.0, target=0.2, step=0.005, most=1.0),),
        aggregate=p.TokenMean(),
    ),
    optim=p.OptimConfig(lr=1e-3),
    published={"loss.regularise.adaptive_entropy.step": p.Published(0.005, "TRL")},
)
