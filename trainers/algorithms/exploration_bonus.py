"""Count bonuses: paid for what was not read before in the run, the episode, or both (2306.03236).

r + beta / sqrt(N) (global), r + beta at the first time in an episode (episodic), or their product:
a message that the policy reads is the state. Episodic bonuses are to help where episodes share
little, global ones where they share much, the product in both (claim `bonus_rooms`).

The study has learnt embeddings where observations never recur, elliptical bonuses; here a message
is new unless it is equal, word for word.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="exploration_bonus",
    summary="PPO with a bonus for messages that are new in the run and in the episode",
    paper="Henaff, Jiang, Raileanu 2023, arXiv 2306.03236",
    formula=r"r_t + \beta \frac{1}{\sqrt{N(s_{t+1})}} 1[s_{t+1} \text{ first in the episode}]",
    status="toy",
    reproductions=("bonus_rooms",),
    rewards=(p.ExplorationBonus(),),
    collect=p.CollectConfig(episodes=256),
    advantage=p.AdvantageConfig(
        credit=p.Gae(level="turn", gamma=1.0, lam=0.95),
        baseline=p.BatchMean(),
        normalise=p.TokenStd(),
    ),
    loss=p.LossConfig(regularise=(p.Entropy(coef=0.01),), aggregate=p.TokenMean()),
    critic=p.ValueCritic(),
    optim=p.OptimConfig(lr=5e-4, epochs=2, minibatches=2),
    variants={
        "global": {"rewards": (p.ExplorationBonus(scope="global"),)},
        "episodic": {"rewards": (p.ExplorationBonus(scope="episodic"),)},
    },
)
