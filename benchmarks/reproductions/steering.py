"""Steering the herd: a trained planner's signals move the herd as computed, for good or ill.

Setting   `coevo/steering-v0` with three citizens; tables by role, by the record `two_level`: the
          citizens learn for 50 updates under drawn precisions, then the planner as well, 240 in
          all; figures are of the last 40.
Measured  The planner's return and the share of citizens who err: an altruist who needs full signals
          (belief 0.5), one for whom silence is best (0.9), and an altruist and a partisan at belief
          0.3, whose bias costs the citizens.
Chosen    Sizes and rates. The references are exact (`envs/societies/herding`); the source finds
          language-model planners within a tenth of the optimum, and so the bound is a tenth of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from coevo.agents.population import ByRole
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps, near
from coevo.benchmarks.reproductions.table_run import QUICKLY, at_end, outcomes
from coevo.envs.core.config import plain
from coevo.envs.societies.herding import best_line
from coevo.envs.societies.steering import PLANNER, SteeringConfig
from coevo.trainers.algorithms import algorithm
from coevo.trainers.algorithms.two_level import cycle
from coevo.trainers.estimators import Entropy

ENV = "coevo/steering-v0"
STEPS, ALONE, LAST, CITIZENS = 240, 50, 40, 3
SETTINGS = {
    **QUICKLY,
    "population": ByRole(),
    "cycle": cycle(ALONE),
    "optim.lr": 0.2,
    "optim_of": {"planner": {"lr": 0.1}},
    "loss.regularise": (Entropy(coef=0.01),),
}
CASES = {
    "altruist, belief 0.5": SteeringConfig(precision_cost=6.0, prior=0.5, citizens=CITIZENS),
    "altruist, belief 0.9": SteeringConfig(precision_cost=6.0, prior=0.9, citizens=CITIZENS),
    "altruist, belief 0.3": SteeringConfig(precision_cost=2.0, prior=0.3, citizens=CITIZENS),
    "partisan, belief 0.3": SteeringConfig(
        planner="biased", precision_cost=2.0, prior=0.3, citizens=CITIZENS
    ),
}


def run(seeds: Sequence[int]) -> Outcome:
    """Train every planner."""
    rows, errors = [], {}
    for label, case in CASES.items():
        courses = [course(case, seed, STEPS) for seed in seeds]
        best = best_line(case.costs, case.prior, CITIZENS, case.precisions)
        still = best_line(case.costs, case.prior, CITIZENS, (case.baseline,))
        found = at_end(courses, f"return/{PLANNER}", LAST)
        errors[label] = at_end(courses, "errors", LAST)
        rows += [
            Row(f"{label}: return if it leaves signals alone", (still.planner,)),
            near(f"{label}: return", found, best.planner, -best.planner / 10),
            Row(f"{label}: citizens who err", errors[label], best.errors / CITIZENS),
        ]
    kind, bent = (errors[label] for label in ("altruist, belief 0.3", "partisan, belief 0.3"))
    return Outcome(
        (*rows, Row("errors that the partisan adds", gaps(bent, kind), 0.2, low=0.1)),
        note="returns are sums over the citizens",
    )


def course(case: SteeringConfig, seed: int, steps: int) -> list[dict[str, float]]:
    """Train tables, and return outcomes and returns of every update.

    Args:
        case: costs and belief.
        seed: of the run.
        steps: updates.
    """
    return outcomes(algorithm("two_level", None, SETTINGS), ENV, plain(case), steps, seed)


REPRODUCTION = Reproduction(
    name="steering",
    property="A trained planner comes within a tenth of the optimum: it informs where that pays, "
    "is silent where it does not, and misleads where it is partisan.",
    source="Steering the Herd, arXiv 2504.02648 (phases of the optimum; planners within a tenth of "
    "it; what bias costs); references: exact recursion, envs/societies/herding",
    minutes=13.0,
    run=run,
    on="table",
)
