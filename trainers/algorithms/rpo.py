"""RPO: preference optimisation that also imitates what is preferred (arXiv 2405.16436).

DPO is free to move probability to replies that no pair ever compared, good or bad; its symptom is a
log-probability of the preferred reply that falls. A term that imitates the preferred reply stands
against it. The start policy is the reference throughout.

eta of the two code bases is not one number: the handbook recipe sums log-probabilities (the
record), OpenRLHF takes their mean over tokens (the variant `token`).
"""

from coevo.trainers import parts as p

CODE = "released code, YSLIU627/Regularized-Preference-Optimization"

ALGORITHM = p.Algorithm(
    name="rpo",
    summary="DPO with imitation of the preferred reply, against over-optimisation",
    paper="Liu et al. 2024, RPO, arXiv 2405.16436",
    formula=r"L = -\log \sigma(\beta (D_w - D_l)) - \eta \beta \log \pi(w), \quad D = \log (\pi "
    r"/ \pi_\ref)",
    status="toy",
    reproductions=("rpo_coverage",),
    cycle=(
        p.Collect(),
        p.BuildBatch(),
        p.MakeItems(to=p.Pairs()),
        p.Update(losses=(p.Rpo(beta=0.01, eta=0.005),)),
        p.FitRewards(),
    ),
    collect=p.CollectConfig(episodes=128, group_size=2),
    optim=p.OptimConfig(lr=1e-4),
    published={
        "collect.episodes": p.Published(128, CODE),
        "optim.lr": p.Published(5e-7, CODE, p.SMALL),
        "optim.epochs": p.Published("1 to 2, on given pairs", CODE, p.CHEAP),
    },
    variants={
        "token": {
            "cycle.update.losses.rpo.beta": 0.5,
            "cycle.update.losses.rpo.eta": 0.2,
            "cycle.update.losses.rpo.per": "token",
        },
        "dpo": {"cycle.update.losses.rpo.eta": 0.0},
    },
)
