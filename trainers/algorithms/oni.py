"""ONI: intrinsic rewards from messages that a judge labels while the policy learns (2410.23022).

r = c_ext r_env + c_int label(m) / n(m)^3, n(m) being how often the message came in the episode, so
that repeating one earns 1.2021 c_int at most. A judge labels some new messages every update, most
of them the newest; labels are kept (retrieval) or generalised by their spelling (variant
`classification`).

PPO in the place of APPO. Left out: labels that arrive asynchronously, ranking of pairs of messages.
Variants: `every_time`, without the cube; `reward_free`, messages alone.
"""

from coevo.trainers import parts as p

CODE = "released code, facebookresearch/oni"

ALGORITHM = p.Algorithm(
    name="oni",
    summary="PPO on messages that a judge labels, divided by the cube of their count",
    paper="Zheng et al. 2024, ONI, arXiv 2410.23022",
    formula=r"r_t = c_\ext r_t^\env + c_\int \frac{\ell (m_t)}{n(m_t)^3}",
    status="toy",
    reproductions=("oni_messages",),
    rewards=(p.MessageLabels(),),
    judges={"judge": p.JudgeRole(learns=False)},
    collect=p.CollectConfig(episodes=256),
    advantage=p.AdvantageConfig(
        reward_weights={"payoff": 0.1},
        credit=p.Gae(level="turn", gamma=1.0, lam=0.95),
        baseline=p.BatchMean(),
        normalise=p.TokenStd(),
    ),
    loss=p.LossConfig(regularise=(p.Entropy(coef=0.01),), aggregate=p.TokenMean()),
    critic=p.ValueCritic(),
    optim=p.OptimConfig(lr=5e-4, epochs=2, minibatches=2),
    published={
        "advantage.reward_weights.payoff": p.Published("0.1 or 10", CODE),
    },
    variants={
        "classification": {"rewards": (p.MessageLabels(model="classification"),)},
        "every_time": {"rewards": (p.MessageLabels(power=0.0),)},
        "reward_free": {"advantage.reward_weights": {"payoff": 0.0}},
    },
)
