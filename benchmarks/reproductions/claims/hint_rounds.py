"""SEELE: hints that follow the success of earlier rounds bring every task near one half."""

from collections.abc import Callable, Mapping

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect, near
from coevo.trainers.collect.beginnings import Hint

ITEMS, SAMPLES, ROUNDS = 300, 8, 4


def shown(hint: Hint | None, fixed: float) -> Callable[[int], Mapping[str, float]]:
    """Return what measures the distance of the success from one half, round by round."""

    def measure(seed: int) -> Mapping[str, float]:
        rng = np.random.default_rng(seed)
        off = np.zeros((ITEMS, ROUNDS))
        for item in range(ITEMS):
            b, k = rng.uniform(0.1, 0.9), rng.uniform(6, 14)
            shares, won = list[float](), list[float]()
            for number in range(ROUNDS):
                share = fixed if hint is None else hint.share(shares, won)
                odds = 1 / (1 + np.exp(-k * (share - b)))
                off[item, number] = abs(odds - 0.5)
                shares += [share] * SAMPLES
                won += (rng.random(SAMPLES) < odds).astype(float).tolist()
        return {"first": float(off[:, 0].mean()), "last": float(off[:, -1].mean())}

    return measure


CLAIM = Claim(
    property="""Shares of the solution that follow the success of earlier rounds bring the success
        of every task nearer to one half than one share for all, or none.""",
    source="""Li et al. 2025, SEELE, arXiv 2509.06923 (target one half, logistic curve);
        references: a simulation of the same set-up that imports nothing of coevo""",
    minutes=0.5,
    on="formula",
    setting=f"""{ITEMS} tasks whose success at a share h is sigma(k (h - b)), b in 0.1 to 0.9, k
        in 6 to 14; {SAMPLES} episodes a round, {ROUNDS} rounds.""",
    measured="Mean distance of the true success from one half in the last round.",
    limits="""The tasks are of the kind that the hints assume: the prior of k is right, and that
        of b nearly.""",
    chosen="The grid of the posterior; the bound was set before the first run.",
    arms={
        "logistic": shown(Hint(), 0.0),
        "half": shown(None, 0.5),
        "none": shown(None, 0.0),
    },
    expect=(
        Expect("distance in round 4, hints that follow", "logistic.last", 0.091, high=0.15),
        near("distance, half of every solution", "half.last", 0.324, 0.03),
        near("distance, no hint", "none.last", 0.464, 0.02),
        Expect("distance in round 1, hints that follow", "logistic.first"),
    ),
)
