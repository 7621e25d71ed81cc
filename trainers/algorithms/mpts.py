"""MPTS: the tasks that are played are those whose predicted risk is high (arXiv 2501.11039).

A learner of risks sees the numbers that stand for a task and predicts its risk, here 1 - its mean
success. Of one and a half times the tasks those are played whose mean plus three deviations is
largest; the first 50 updates play all that come.

Ours: a Gaussian process over the latest tasks, in the place of a neural process whose prior is its
last posterior. Left out: the random half of the tasks that the released code may add.
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="mpts",
    summary="GRPO on the tasks that are predicted to fail most",
    paper="Wang et al. 2025, MPTS, arXiv 2501.11039",
    formula=r"\text{tasks} = \text{top}_B (\mu(x) + 3 \sigma(x))",
    status="toy",
    shows="a family of bandits as a table; no meta-learning",
    reproductions=("mpts_risk",),
    collect=p.CollectConfig(episodes=512, group_size=8, curriculum=p.Predicted()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "collect.curriculum.explore": p.Published("3 (sinusoid), 5 (meta-RL)", CODE),
        "collect.curriculum.candidates": p.Published(1.5, CODE),
        "collect.curriculum.warmup": p.Published(50, CODE),
    },
)
