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
mean gradient. Agents of different base models: `--set "population=separate(models=agent_1=PATH)"`.
Left out: replies that hit the length limit teach here, and are masked in the code.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, Published, SamplerSpec
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

CODE = "paper and released configuration"

ALGORITHM = Algorithm(
    name="comas",
    summary="peers' scores as zero-sum rewards of solutions and reviews, whitened per agent",
    paper="Xue et al. 2025, CoMAS, arXiv 2510.08529",
    formula="A = (r - mean) / (std + eps) over all tokens of one agent; r per reply",
    status="checked",
    checks=("comas_tabular", "comas_lm", "comas_seed"),
    population=option("separate"),
    rewards=(option("interaction"),),
    sampler=SamplerSpec(episodes=64),
    advantage=AdvantageSpec(
        credit=option("to_go", gamma=0.0),
        center=option("none"),
        scale=option("token_std", by="policy"),
    ),
    loss=LossSpec(
        kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("seq_mean_token_mean")
    ),
    optim=OptimSpec(lr=3e-4, beta2=0.999, weight_decay=0.0, grad_norm=1.0),
    published={
        "population": Published(value="separate, 4 agents (2 in ablations)", source=CODE),
        "sampler.episodes": Published(
            value="64 (16 questions, each 4 times)", source=CODE, why=CHEAP
        ),
        "advantage.kl_in_reward": Published(value=0.0, source=CODE),
        "loss.kind.eps_lo": Published(value=0.2, source=CODE),
        "optim.lr": Published(value=1e-6, source=CODE, why=SMALL),
        "optim.epochs": Published(value=1, source=CODE),
        "optim.weight_decay": Published(value=0.0, source=CODE),
        "optim.grad_norm": Published(value=1.0, source=CODE),
    },
    variants={
        "role": {"advantage.scale.by": "policy+role"},
        "shared": {"population": "shared"},
        "no_scoring": {"rewards": "interaction(ablate=scoring)"},
        "no_evaluation": {"rewards": "interaction(ablate=evaluation)"},
        "kl": {"advantage.kl_in_reward": 0.01},
    },
)
