"""ArCHer: critics of whole replies, a policy over tokens (arXiv 2402.19446).

Two Q heads judge what was said, two V heads where it was said; slow copies give the targets
Q <- r + gamma V(s'), V <- Q(s, a). A = min(Q1, Q2) - min(V1, V2), and the loss is -A log pi(a | s)
over the tokens of a reply. Rewards reach the policy through the critics only.

Left out: the buffer of 100 000 old replies, so that a' in the target of V is the reply that was
played, one of the current policy; separate networks for the critics, which are heads on the
policy's hidden state here; iterations in which only the critics learn; the optional baseline of
every token. See `trainers/learners/utterance_critic.py`.
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="archer",
    summary="double critics of whole replies, policy gradient over their tokens",
    paper="Zhou et al. 2024, ArCHer, arXiv 2402.19446",
    formula=r"A_k = \min_c Q_c(s_k, a_k) - \min_c V_c(s_k) \\ L = -A_k \log \pi(a_k \mid s_k)",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(
        credit=p.TdCritic(), baseline=p.NoBaseline(), normalise=p.NoNormalisation()
    ),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.SeqMeanTokenSum()),
    critic=p.UtteranceCritic(lr=1e-2, passes=20, gamma=0.95, tau=0.1),
    optim=p.OptimConfig(lr=5e-4),
    published={
        "critic.gamma": p.Published(0.95, CODE),
        "critic.tau": p.Published(0.1, CODE),
        "critic.passes": p.Published(50, CODE, "per batch there, of old replies"),
        "critic.lr": p.Published("1e-5 to 2e-5", CODE, "heads only, no network"),
        "optim.lr": p.Published("1e-6 to 1e-5", CODE, p.SMALL),
        "optim.epochs": p.Published(3, CODE, "one step is on-policy"),
        "collect.episodes": p.Published("128 (WebShop 512)", CODE, p.CHEAP),
    },
)
