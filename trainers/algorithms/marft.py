"""MARFT: a team answers in order, and credit runs through it from seat to seat (arXiv 2504.16129).

Every seat reads those before it, and the last one's answer is paid. A generalised advantage runs
over the turns of all seats in the order in which they came: A_m = delta_m + gamma lambda A_{m+1},
delta_m = r_m + gamma V(next seat) - V(m), so that a seat learns from what comes of its words. A
reply is one action: one ratio, the product of its tokens'. One adapter per seat. The environment is
`coevo/sequential_team-v0` with `paid=actor`; where all seats are paid the sum counts each of them.

Left out: the update that is refused above a KL of 0.001, and seats that learn one at a time, which
is `optim.alternate`. Ours: a value head per adapter, where the source has one critic. The summed
log-probabilities make long replies' ratios extreme: `mean_ratio` divides by their length. `cut` is
the control, in which nothing crosses from seat to seat.
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="marft",
    summary="PPO whose advantages run over the turns of all seats of a team, one after the other",
    paper="Liao et al. 2025, MARFT, arXiv 2504.16129",
    formula=r"A_m = \delta_m + \gamma \lambda A_{m+1}, \quad \delta_m = r_m + \gamma V_{m+1} - V_m "
    r"\quad \text{over the turns } m \text{ of all seats}",
    status="table",
    shows="an unpaid seat learns to speak; pay to all seats teaches as much without this credit",
    reproductions=("marft_chain",),
    population=p.Adapters(),
    collect=p.CollectConfig(episodes=256),
    advantage=p.AdvantageConfig(
        credit=p.Gae(level="team", gamma=0.99, lam=0.95),
        baseline=p.BatchMean(),
        normalise=p.TokenStd(),
    ),
    loss=p.LossConfig(
        ratio_level=p.TurnRatio(mean=False),
        surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2),
        regularise=(p.Entropy(coef=0.01),),
        aggregate=p.SeqMeanTokenMean(),
    ),
    critic=p.ValueCritic(),
    optim=p.OptimConfig(lr=5e-4),
    published={
        "population.rank": p.Published(8, CODE),
        "population.targets": p.Published("[q_proj, v_proj]", CODE, "names differ by model"),
        "advantage.credit.gamma": p.Published(0.99, CODE),
        "advantage.credit.lam": p.Published(0.95, CODE),
        "loss.surrogate.eps_lo": p.Published(0.2, CODE),
        "loss.regularise.entropy.coef": p.Published(0.01, CODE),
        "critic.lr": p.Published("5e-5 to 5e-4", CODE, p.SMALL),
        "optim.lr": p.Published("5e-7 to 1e-6", CODE, p.SMALL),
    },
    variants={
        "mean_ratio": {"loss.ratio_level": p.TurnRatio()},
        "cut": {"advantage.credit": p.Gae(level="turn", gamma=0.99, lam=0.95)},
    },
)
