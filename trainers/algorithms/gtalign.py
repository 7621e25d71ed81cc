"""GTAlign: a model is paid what is good for its user and for itself, both at once (2510.08872).

The score of a reply is the geometric mean of the welfare of user and model, so that a side that
gets little counts more than one that gets much. PPO with GAE, a critic and no KL. The world notes
both welfares in its outcome (`coevo/clarify-v0`: answer, answer all that may be meant, or ask).
`arithmetic` is the paper's ablation.

Left out: the matrix of payoffs that the model writes into its reply, the share of the score that
it earns there and for its form, and z-scores per data set: one environment is one data set. The
scripted user takes the place of the paper's judge.
"""

from coevo.trainers import parts as p

CODE = "released code (ulab-uiuc/GTAlign)"

ALGORITHM = p.Algorithm(
    name="gtalign",
    summary="PPO on the geometric mean of what user and model get",
    paper="Zhu et al. 2025, GTAlign, arXiv 2510.08872",
    formula=r"r = \sqrt{w_{\text{user}} \, w_{\text{model}}}",
    status="table",
    shows="the geometric mean asks back where the arithmetic one guesses; nothing of reasoning",
    reproductions=("gtalign_welfare",),
    rewards=(p.MutualWelfare(),),
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(
        reward_weights={"payoff": 0.0},
        credit=p.Gae(level="token", gamma=1.0, lam=1.0),
        baseline=p.BatchMean(),
        normalise=p.TokenStd(),
    ),
    loss=p.LossConfig(aggregate=p.TokenMean()),
    critic=p.ValueCritic(),
    optim=p.OptimConfig(lr=5e-4, epochs=1, minibatches=2),
    published={
        "optim.lr": p.Published("1e-6, critic 2e-6", CODE, p.SMALL),
        "optim.minibatches": p.Published("16 of 32", CODE, p.SMALL),
        "rewards.mutual_welfare": p.Published(
            "answer, length and reasoning for the user; Pareto, payoff, format, answer and length "
            "for the model",
            CODE,
            "the environment says what either side gets",
        ),
    },
    variants={"arithmetic": {"rewards": (p.MutualWelfare(mean="arithmetic"),)}},
)
