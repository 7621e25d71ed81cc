"""PPO with a critic: generalised advantages over tokens (arXiv 1707.06347).

The critic is a linear head on the policy's last hidden state; its loss does not train the trunk,
so that policy records differ in their estimator alone. Nothing bootstraps from tokens that the
policy did not write. Over turns it is `turn_ppo`; the variant `bilevel` runs over turns first and
from each turn's end over its tokens (VAGEN's code, discount 0.99 per turn).
"""

from coevo.envs.rewards import Format
from coevo.trainers.algorithm import (
    Algorithm,
    CollectConfig,
    OptimConfig,
    Published,
    ValueCritic,
)
from coevo.trainers.estimators import (
    AdvantageConfig,
    BatchMean,
    Entropy,
    Gae,
    LossConfig,
    PpoClip,
    TokenMean,
    TokenStd,
)

ALGORITHM = Algorithm(
    name="ppo",
    summary="clipped policy gradient with a critic; advantages over tokens",
    paper="Schulman et al. 2017, arXiv 1707.06347",
    formula=r"A_t = \delta_t + \gamma \lambda A_{t+1}, \quad \delta_t = r_t + \gamma V_{t+1} - "
    r"V_t",
    status="vectors",
    rewards=(Format(legal=0.05),),
    collect=CollectConfig(episodes=512),
    advantage=AdvantageConfig(
        credit=Gae(level="token", gamma=1.0, lam=0.95),
        baseline=BatchMean(),
        normalise=TokenStd(),
    ),
    loss=LossConfig(
        surrogate=PpoClip(eps_lo=0.2, eps_hi=0.2),
        regularise=(Entropy(coef=0.01),),
        aggregate=TokenMean(),
    ),
    critic=ValueCritic(),
    optim=OptimConfig(lr=5e-4, epochs=2, minibatches=2),
    published={
        "optim.epochs": Published(value="3 to 15", source="paper, tables 3 to 5"),
        "loss.regularise": Published(value="entropy(coef=0.01)", source="paper, Atari"),
    },
    variants={"bilevel": {"advantage.credit": Gae(level="bilevel", gamma_turn=0.99)}},
)
