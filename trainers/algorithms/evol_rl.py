"""EVOL-RL: the majority selects, novelty varies (arXiv 2509.15194).

Replies to a question without a label are paid in two bands: 0.5 to 1 with the majority answer, -1
to -0.5 with another; within a band by how little they are like the other replies. Majority alone,
the variant `majority`, makes all replies alike; a wider upper clip and a small entropy bonus help
novelty. Likeness is that of hashed runs of three characters, or of an encoder given in Python.

Where answers are listed moves, equal answers are equal texts, and novelty has nothing to vary: it
needs worked text.
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="evol_rl",
    summary="majority answers are paid, new ways to them are paid more",
    paper="Zhou et al. 2025, EVOL-RL, arXiv 2509.15194",
    formula=r"r = \frac{1}{2} + \frac{u}{2} \text{ with the majority answer, else } -1 + "
    r"\frac{u}{2}, \quad u = \text{novelty in } [0, 1] \text{ within the band}",
    status="toy",
    shows="several ways to the majority answer stay alive; no gain in right answers",
    reproductions=("evol_rl_routes",),
    rewards=(p.MajorityNovelty(),),
    collect=p.CollectConfig(episodes=256, group_size=16, component="majority_novelty"),
    advantage=p.AdvantageConfig(reward_weights={"payoff": 0.0}),
    loss=p.LossConfig(
        surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.28),
        regularise=(p.Entropy(coef=0.003), p.Kl(kind="k3", coef=0.001)),
    ),
    optim=p.OptimConfig(lr=1e-3),
    published={"optim.lr": p.Published(5e-7, CODE, p.SMALL)},
    variants={
        "majority": {"rewards": (p.Majority(),), "collect.component": "majority"},
    },
)
