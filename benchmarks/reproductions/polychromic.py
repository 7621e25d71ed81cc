"""Set credit (polychromic objective): a policy that keeps two good answers instead of one.

Setting   Four arms with rewards (1, 0.95, 0, 0), a table from the uniform policy, the shipped loop:
          32 episodes an update, 800 updates. The record `polychromic` in sets of 4: a set is worth
          its mean reward times its share of different arms, and all its members share the advantage
          f(S) - mean f. The record `reinforce` has a batch mean as baseline. Plain gradient steps.
Measured  min(P1, P2), the probability of the rarer of the good arms, and success, P1 + P2: set
          credit pays for diversity with success, and that price is shown.
Chosen    Arms, sets and step size; the paper reports gridworlds and gives no such figure.
"""

from __future__ import annotations

from collections.abc import Sequence

from coevo.benchmarks.reproductions.arms import ID, odds
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, near
from coevo.benchmarks.reproductions.table_run import PLAIN, sized, started
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import algorithm
from coevo.trainers.estimators import ShareSet
from coevo.trainers.loop import finish
from coevo.trainers.run import output_policy

PAYOFFS = (1.0, 0.95, 0.0, 0.0)
SIZE, MEMBERS, STEPS, LR = 32, 4, 800, 0.2
SETTINGS = {**PLAIN, "collect.episodes": SIZE, "optim.lr": LR}
SETS = {
    "collect.group_size": SIZE,
    "advantage.transform": (ShareSet(label="answer", size=MEMBERS, by="group+agent"),),
}


def run(seeds: Sequence[int]) -> Outcome:
    """Learn with credit for episodes and with credit for sets."""
    reinforce = algorithm("reinforce", None, SETTINGS)
    polychromic = algorithm("polychromic", None, {**SETTINGS, **SETS})
    single, shared = ([_learn(made, s) for s in seeds] for made in (reinforce, polychromic))
    rarer, success = ([tuple(x[k] for x in found) for found in (single, shared)] for k in (0, 1))
    return Outcome(
        (
            Row("min(P1, P2), REINFORCE", rarer[0], 0.043, high=0.1),
            near("min(P1, P2), set credit", rarer[1], 0.41, 0.038),
            near("success, REINFORCE", success[0], 0.996, 0.005),
            near("success, set credit (the price)", success[1], 0.851, 0.029),
        )
    )


def _learn(made: Algorithm, seed: int) -> tuple[float, float]:
    """Return min(P1, P2) and P1 + P2 at the end of a run."""
    arms = len(PAYOFFS)
    with started(made, ID, {"payoffs": PAYOFFS}, sized(1, arms), seed=seed, steps=STEPS) as run:
        finish(run)
        one, two, *_ = odds(output_policy(run.learners["policy"]), arms).tolist()
        return min(one, two), one + two


REPRODUCTION = Reproduction(
    name="polychromic",
    property="Credit for sets keeps both good arms where REINFORCE keeps one, at a price in "
    "success.",
    source="Hamid et al. 2025, Polychromic Objectives, arXiv 2509.25424 (f(S) = mean reward times "
    "diversity of a set); figures: our numpy experiment, studies/polychromic_numpy.py",
    minutes=2.0,
    run=run,
    on="table",
)
