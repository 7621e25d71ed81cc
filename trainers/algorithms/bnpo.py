"""BNPO: the advantage over an adaptive Beta density of the success rate (arXiv 2506.02864).

A = (R - p) / f(p), p the group's mean reward mapped to [0, 1], f = Beta(alpha, beta) fitted to the
p of the batch such that the gradient varies least. alpha = beta = 1 is plain centring, 3/2 is
GRPO. Several rewards are normalised apart and added (the paper's decomposition; its factor 1/K
is left to the learning rate). Not TRL's loss type `bnpo`, which is a mean over local tokens.

Not copied from the released code: its loop adds every stored tensor whose name contains
"reward_tensor", so that the total counts once more beside its parts.

One range serves all rewards, by default what the environment can pay, since nothing bounds the sum
of the small ones paid per reply: that for legal replies fills a hundredth of it, where the density
is steep, and its part of the advantage is about 6e-6 beside 0.2 of the payoff. In effect the payoff
alone teaches; give rewards of one range to use the decomposition. A batch of equal p has plain
centring, where changyi7231/BNPO@a9c51b9 divides by 0.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="bnpo",
    summary="outcome minus success rate, over a Beta density fitted to the success rates",
    paper="Xiao et al. 2025, BNPO, arXiv 2506.02864",
    formula=r"A_i = \frac{R_i - p}{\Beta(p; \alpha, \beta)}, \quad p = \mean_g R \\ "
    r"\alpha, \beta \text{ from the mean and variance of } p \text{ over the batch}",
    status="formula",
    reproductions=("bnpo_optimum",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(compose=p.Decoupled(), normalise=p.BetaPdf()),
    loss=p.LossConfig(
        surrogate=p.DualClip(eps_lo=0.2, eps_hi=0.28, c=10.0), aggregate=p.SeqMeanTokenSum()
    ),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "loss.surrogate": p.Published("dual_clip(c=10, eps_hi=0.28)", "released code"),
        "optim.lr": p.Published(1e-6, "released code", p.SMALL),
        "optim.warmup": p.Published(10, "released code", "runs end by a budget"),
        "collect.episodes": p.Published("32 prompts", "released code", p.CHEAP),
        "collect.group_size": p.Published(16, "released code", p.CHEAP),
    },
)
