"""SEELE: every reply begins with so much of a solution that half of them succeed (2509.06923).

The episodes of a task are played in four rounds. After each, a logistic curve of the success over
the share of the solution that was shown gives the share for the next one. What is shown stands at
the beginning of the reply, and is not learnt: it carries no loss.

Inferred: priors, the number of rounds and the clipping are not public. The curve has no third
parameter for the success by chance. Evaluate without hints; held-out episodes have none.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="seele",
    summary="GRPO in which replies begin with a part of the solution, as much as they need",
    paper="Li et al. 2025, SEELE, arXiv 2509.06923",
    formula=r"h_{r+1} = \hat b + \sigma^{-1}(\tfrac12) / \hat k, \quad "
    r"P(\text{success} \mid h) = \sigma (k (h - b))",
    status="formula",
    shows="success near one half on simulated tasks; nothing is trained",
    reproductions=("hint_rounds",),
    usage="--env coevo/debate-v0 --env-option rounds=1 'questions={name: word_problems, "
    "task: sums}'",
    collect=p.CollectConfig(episodes=512, group_size=32, hint=p.Hint()),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2)),
    optim=p.OptimConfig(lr=1e-3),
    published={"collect.hint.target": p.Published(0.5, "paper")},
)
