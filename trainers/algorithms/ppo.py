"""PPO with a critic: generalised advantages over tokens (arXiv 1707.06347).

The critic is a linear head on the policy's last hidden state; its loss does not train the trunk,
so that policy records differ in their estimator alone. Nothing bootstraps from tokens that the
policy did not write. Over turns it is `turn_ppo`; the variant `bilevel` runs over turns first and
from each turn's end over its tokens (VAGEN's code, discount 0.99 per turn).
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="ppo",
    summary="clipped policy gradient with a critic; advantages over tokens",
    paper="Schulman et al. 2017, arXiv 1707.06347",
    formula=r"A_t = \delta_t + \gamma \lambda A_{t+1}, \quad \delta_t = r_t + \gamma V_{t+1} - "
    r"V_t",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(
        credit=p.Gae(level="token", gamma=1.0, lam=0.95),
        baseline=p.BatchMean(),
        normalise=p.TokenStd(),
    ),
    loss=p.LossConfig(regularise=(p.Entropy(coef=0.01),), aggregate=p.TokenMean()),
    critic=p.ValueCritic(),
    optim=p.OptimConfig(lr=5e-4, epochs=2, minibatches=2),
    published={
        "optim.epochs": p.Published("3 to 15", "paper, tables 3 to 5"),
        "loss.regularise": p.Published("entropy(coef=0.01)", "paper, Atari"),
    },
    variants={"bilevel": {"advantage.credit": p.Gae(level="bilevel", gamma_turn=0.99)}},
)
