"""Direct Nash optimisation: every iteration is preferred to the one before it."""

import torch

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.preferences import (
    CIRCLE,
    FITTED,
    P_AA,
    judged,
    worst_cases,
)
from coevo.benchmarks.reproductions.run import SGD, Arm, Trained

ETA, REPLIES = 2.0, 128


def _measure(end: Trained) -> dict[str, float]:
    """Compare every policy with the one before it, and with the closed form of its step."""
    start_A = torch.full((len(P_AA),), 1 / len(P_AA), dtype=torch.float64)
    p_UA = torch.stack([start_A, *end.seen])
    before_UA, after_UA, moved_UA = p_UA[:-1], p_UA[1:], p_UA.diff(dim=0)
    against_UA = moved_UA @ P_AA
    gain_U = (against_UA * before_UA).sum(-1)
    spread_U = (before_UA * (against_UA - gain_U.unsqueeze(1)) ** 2).sum(-1)
    ideal_UA = (before_UA.log() + before_UA @ P_AA.T / ETA).log_softmax(-1)
    kl_U = (ideal_UA.exp() * (ideal_UA - after_UA.log())).sum(-1)
    over = [float(now @ P_AA @ last) for last, now in zip(before_UA, after_UA, strict=True)]
    return {
        **worst_cases(end),
        "over": min(over),
        "gain": float((gain_U / (spread_U / REPLIES).sqrt()).min()),
        "distance": float(torch.max(kl_U)),
    }


CLAIM = Claim(
    property="""Regression on win rates gives the step of exponential weights; every policy is
        preferred to the one before it as far as sampled win rates can tell, and the average of all
        is beaten by no arm.""",
    source="""Rosset et al. 2024, DNO, arXiv 2404.03715 (algorithm 1; monotone improvement);
        figures: our numpy experiment, studies/preferences_numpy.py, exact steps with eta = 2""",
    minutes=6.0,
    on="toy",
    setting="""Four arms whose preferences go in a circle (`preferences`), one table, 100 updates:
        128 replies an update, every two of them a pair, 30 passes, eta 2. The control trains on
        fitted scores, which cannot say that a circle is one.""",
    theory="""With exact win rates r a step gains sum_a (pi' - pi)(a) r(a) >= 0. Here r is an
        average over n replies drawn from pi, so that the gain is known up to a standard error of
        sqrt(Var_b[sum_a (pi' - pi)(a) P(a, b)] / n), b drawn from pi: it may be negative by a few
        of those, and by no more.""",
    measured="""How often a policy is preferred to the one before; the distance of a regression step
        from its closed form pi ~ pi_t exp(r / eta), exact r; the worst case of policies.""",
    chosen="""Sizes. After a first look: the bound in standard errors, where a bare 0.4995 had no
        reason, and 128 replies instead of 64, since one of three seeds was 1.1e-3 from the closed
        form.""",
    note="""a policy may be preferred to the one before it for ever and yet go round: the average is
        what is safe""",
    world=CIRCLE,
    changes=SGD,
    arms={
        "dno": Arm(
            "dno",
            {
                "collect.episodes": REPLIES,
                "collect.group_size": REPLIES,
                "optim.lr": 1.0,
                "optim.epochs": 30,
                "cycle.update.losses.dno.eta": ETA,
            },
            edit=judged(),
            steps=100,
        ),
        "fitted": FITTED,
    },
    measure=_measure,
    expect=(
        Expect("least P(policy over the one before)", "dno.over", 0.5),
        Expect("least gain of a step, in standard errors", "dno.gain", 0.0, low=-4.0),
        Expect("greatest KL(closed form || regression)", "dno.distance", 0.0, high=1e-3),
        Expect("worst case of the average policy", "dno.average", 0.486, low=0.47),
        Expect("worst case of the last policy", "dno.last", 0.456),
        Expect("fitted scores: worst case of the last policy", "fitted.last", 0.202, high=0.25),
    ),
)
