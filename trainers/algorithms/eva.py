"""eva: prompts that still tell good replies from bad ones are played again and evolved.

A creator and a solver take turns. The creator is a procedure: every prompt that was played is worth
the spread of its rewards, the best of its replies minus the worst, which stands for what the policy
still regrets; prompts are drawn from a buffer in that proportion, some of them are varied by their
environment, and the rest of the update plays prompts as they come. The solver is RLOO. What a
variation is the environment says (`Task.variation`), where the paper has a model rewrite prompts.

Variants: `advantage` takes the best minus the mean; in `drawn`, the control, all prompts come as
they come. The paper's offline solvers (DPO and its like) are a matter of `cycle`, and not tried.

Inferred: that the worst reply is what the best is compared with; the share of prompts as they come,
that of variations among the rest, and the size of the buffer. The paper's values were not read.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="eva",
    summary="RLOO on prompts that are evolved where the best reply beats the worst by most",
    paper="Ye et al. 2024, eva, arXiv 2411.00062",
    formula=r"p(x) \propto \max_i r(x, y_i) - \min_i r(x, y_i) \\ "
    r"A_i = r_i - \frac{1}{G - 1} \sum_{j \ne i} r_j",
    status="toy",
    shows="less regret; a variation is another of the same prompts, and no arm is without them",
    reproductions=("eva_prompts",),
    collect=p.CollectConfig(
        episodes=512,
        group_size=8,
        curriculum=p.Evolve(info="regret", warmup=1, fresh=0.5, vary=0.5, size=4096),
    ),
    advantage=p.AdvantageConfig(
        baseline=p.LeaveOneOut(by="group+agent"), normalise=p.NoNormalisation()
    ),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.SeqMeanTokenSum()),
    optim=p.OptimConfig(lr=1e-3),
    variants={
        "advantage": {"collect.curriculum.info": "advantage"},
        "drawn": {"collect.curriculum": p.Drawn()},
    },
)
