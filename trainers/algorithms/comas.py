"""CoMAS: learn from what peers say of each other's work (arXiv 2510.08529).

Solvers, evaluators and scorers discuss (`coevo/peer_review-v0`); the module `interaction` pays a
solution (t - 1) / 2 and its evaluation (3 - t) / 2 by the score t, and -1 to a scorer that gives
none. REINFORCE++ over each agent's own buffer, all three roles together: every reply has its own
reward (returns with gamma = 0), whitened with every token as one observation; no groups, no critic.
Agents have parameters of their own, and learn from what they wrote themselves.

A valid score pays its scorer 0: nothing trains it to be right, so its quality bounds the method.
With one mean for all roles its constant 0 is a constant disadvantage, zero on average and noisy;
where the judge is weak it drifts. The variant `role` whitens each role apart.

Variants: `role`; `shared` parameters; `no_scoring` and `no_evaluation`, the controls of the paper
(play them with `phases=solve+evaluate` and `phases=solve+score`); `kl`, which charges a reply the
sum of its tokens' log-ratios; the paper charges a token for those from it on, which has the same
mean gradient. Agents of different base models:
`--set population='{name: separate, models: {agent_1: PATH}}'`.

Ours: a solution is dealt to reviewers by a permutation of the agents of its own question, in the
code over the whole batch; deviations have ddof 1 (the code 0: 0.5 % at 100 tokens); the warm-up of
this library; each question once per update. In the controls a solution is paid by the votes of
others, and its author counts as one who finds it right: the paper has them in words only.
Left out: replies that hit the length limit teach here, and are masked in the code.
"""

from coevo.trainers import parts as p

CODE = "paper and released configuration"

ALGORITHM = p.Algorithm(
    name="comas",
    summary="peers' scores as zero-sum rewards of solutions and reviews, whitened per agent",
    paper="Xue et al. 2025, CoMAS, arXiv 2510.08529",
    formula=r"A = \frac{r - \mean r}{\std r + \epsilon} \text{ over all tokens of one agent}",
    status="model",
    shows="a gain where the judges know a little, and none where they do not",
    reproductions=("comas_tabular", "comas_lm", "comas_starter"),
    population=p.Separate(),
    rewards=(p.Interaction(),),
    collect=p.CollectConfig(episodes=64),
    advantage=p.AdvantageConfig(
        credit=p.ToGo(gamma=0.0), baseline=p.NoBaseline(), normalise=p.TokenStd(by="policy")
    ),
    optim=p.OptimConfig(lr=3e-4, beta2=0.999, weight_decay=0.0, grad_norm=1.0),
    published={
        "population": p.Published("separate, 4 agents (2 in ablations)", CODE),
        "collect.episodes": p.Published("64 (16 questions, each 4 times)", CODE, p.CHEAP),
        "advantage.kl_in_reward": p.Published(0.0, CODE),
        "loss.surrogate.eps_lo": p.Published(0.2, CODE),
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
        "optim.epochs": p.Published(1, CODE),
        "optim.weight_decay": p.Published(0.0, CODE),
        "optim.grad_norm": p.Published(1.0, CODE),
    },
    variants={
        "role": {"advantage.normalise.by": "policy+role"},
        "shared": {"population": p.Shared()},
        "no_scoring": {"rewards": (p.Interaction(ablate="scoring"),)},
        "no_evaluation": {"rewards": (p.Interaction(ablate="evaluation"),)},
        "kl": {"advantage.kl_in_reward": 0.01},
    },
)
