"""Steering the herd: a trained planner's signals move the herd as computed, for good or ill."""

from collections.abc import Iterator

from coevo.agents.population import ByRole
from coevo.benchmarks.reproductions.claim import Claim, Expect, Once, near
from coevo.benchmarks.reproductions.run import QUICKLY, Arm, Trained, World
from coevo.envs.core.config import plain
from coevo.envs.societies.herding import best_line
from coevo.envs.societies.steering import PLANNER, SteeringConfig
from coevo.trainers import components as c
from coevo.trainers.algorithms.two_level import cycle

LAST, CITIZENS = 40, 3
CASES = {
    "altruist, belief 0.5": SteeringConfig(precision_cost=6.0, prior=0.5, citizens=CITIZENS),
    "altruist, belief 0.9": SteeringConfig(precision_cost=6.0, prior=0.9, citizens=CITIZENS),
    "altruist, belief 0.3": SteeringConfig(precision_cost=2.0, prior=0.3, citizens=CITIZENS),
    "partisan, belief 0.3": SteeringConfig(
        planner="biased", precision_cost=2.0, prior=0.3, citizens=CITIZENS
    ),
}


def _still(seed: int) -> dict[str, float]:
    return {
        label: best_line(case.costs, case.prior, CITIZENS, (case.baseline,)).planner
        for label, case in CASES.items()
    }


def _measure(end: Trained) -> dict[str, float]:
    return {
        "return": end.last(LAST, f"return/{PLANNER}"),
        "errors": end.last(LAST, "outcome/errors"),
    }


def _rows(label: str, case: SteeringConfig) -> Iterator[Expect]:
    best = best_line(case.costs, case.prior, CITIZENS, case.precisions)
    yield Expect(f"{label}: return if it leaves signals alone", lambda found: found["still"][label])
    yield near(f"{label}: return", f"{label}.return", best.planner, -best.planner / 10)
    yield Expect(f"{label}: citizens who err", f"{label}.errors", best.errors / CITIZENS)


CLAIM = Claim(
    property="""A trained planner comes within a tenth of the optimum: it informs where that pays,
        is silent where it does not, and misleads where it is partisan.""",
    source="""Steering the Herd, arXiv 2504.02648 (phases of the optimum; planners within a tenth of
        it; what bias costs); references: exact recursion, envs/societies/herding""",
    minutes=13.0,
    on="table",
    setting="""`coevo/steering-v0` with three citizens; tables by role, `two_level`: the citizens
        learn for 50 updates under drawn precisions, then the planner as well, 240 in all; figures
        are of the last 40.""",
    measured="""The planner's return and the share of citizens who err: an altruist who needs full
        signals (belief 0.5), one for whom silence is best (0.9), and an altruist and a partisan at
        belief 0.3, whose bias costs the citizens.""",
    chosen="""Sizes and rates. The references are exact (`envs/societies/herding`); the source finds
        language-model planners within a tenth of the optimum, and so the bound is a tenth of
        it.""",
    note="returns are sums over the citizens",
    world=World("coevo/steering-v0", 240),
    changes={
        **QUICKLY,
        "population": ByRole(),
        "cycle": cycle(50),
        "optim.lr": 0.2,
        "optim_of": {"planner": {"lr": 0.1}},
        "loss.regularise": (c.Entropy(coef=0.01),),
    },
    arms={
        "still": Once(_still),
        **{label: Arm("two_level", options=plain(case)) for label, case in CASES.items()},
    },
    measure=_measure,
    expect=(
        *(row for label, case in CASES.items() for row in _rows(label, case)),
        Expect(
            "errors that the partisan adds",
            "partisan, belief 0.3.errors - altruist, belief 0.3.errors",
            0.2,
            low=0.1,
        ),
    ),
)
