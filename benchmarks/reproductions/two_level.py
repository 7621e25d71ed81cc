"""Two-level training: a planner who taxes high incomes most beats the flat tax, and that no tax.

Setting   The one-step economy (`coevo/tax_economy-v0`): four workers of skills 1, 1.5, 2 and 4,
          hours and rates in quarters. Tables, one per seat, by the record `two_level`; the
          planner's from update 150 on, at two fifths of the workers' rate.
Measured  The planner's objective, evenness of coins times output per head, in the last 20 of 400
          updates: with one rate for all coins, and with a rate of its own for coins over 100.
Chosen    Sizes and rates. A worker's best hours do not depend on what others do, so that every
          schedule has one answer; the references are the best schedule with it, exact. The bound on
          both objectives is half of what separates the two optima, 3.1, and on hours a quarter of
          a step of the grid.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from statistics import fmean

import numpy as np

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps, near
from coevo.benchmarks.reproductions.table_run import QUICKLY, at_end, outcomes
from coevo.envs.core.config import plain
from coevo.envs.societies.tax_economy import PLANNER, TaxEconomy, TaxEconomyConfig, tax_due
from coevo.trainers.algorithms import algorithm
from coevo.trainers.algorithms.two_level import cycle

ENV = "coevo/tax_economy-v0"
FLAT, BRACKETS = (0.0,), (0.0, 100.0)
GRID, STEPS, ALONE, LAST = 4, 400, 150, 20
SETTINGS = {
    **QUICKLY,
    "cycle": cycle(ALONE),
    "optim.lr": 0.1,
    "optim_of": {PLANNER: {"lr": 0.04}},
}


def run(seeds: Sequence[int]) -> Outcome:
    """Train with one bracket and with two."""
    flat, two = ([course(b, seed, STEPS) for seed in seeds] for b in (FLAT, BRACKETS))
    best_flat, best_two = optimum(economy(FLAT)), optimum(economy(BRACKETS))
    untaxed = planned(economy(FLAT), (0.0,))
    within = (best_two[0] - best_flat[0]) / 2
    ends = [at_end(courses, f"return/{PLANNER}", LAST) for courses in (flat, two)]
    wanted = fmean(best_hours(economy(BRACKETS), best_two[1]))
    return Outcome(
        (
            Row("no tax: objective, by best replies", (untaxed,)),
            Row("drawn rates: objective before the planner learns", before(two)),
            near("flat tax: objective", ends[0], best_flat[0], within),
            near("two brackets: objective", ends[1], best_two[0], within),
            Row("flat tax above none", gaps(ends[0], [untaxed] * len(seeds)), low=0.0),
            Row("two brackets above flat", gaps(ends[1], ends[0]), low=0.0),
            near("two brackets: mean hours", at_end(two, "hours", LAST), wanted, 25 / 4),
        ),
        note="the best two rates are "
        + " and ".join(f"{rate:.0%}" for rate in best_two[1])
        + f", the best one {best_flat[1][0]:.0%}; an objective above the reference means "
        "workers who settled on more hours than are best for them",
    )


def economy(brackets: Sequence[float]) -> TaxEconomy:
    """Return the economy with these brackets."""
    return TaxEconomy(TaxEconomyConfig(brackets=tuple(brackets), rate_steps=GRID, hour_steps=GRID))


def best_hours(task: TaxEconomy, rates: Sequence[float]) -> list[float]:
    """Return what workers do who know that a share of their own tax comes back to them."""
    hours = np.array([float(h) for h in task.hours])
    lost = 1 - 1 / len(task.skills)
    found = []
    for skill in task.skills:
        income = skill * hours
        kept = income - lost * tax_due(income, task.config.brackets, rates)
        worth = kept - task.config.cost * hours**task.config.power
        found.append(float(hours[int(np.round(worth, 9).argmax())]))
    return found


def planned(task: TaxEconomy, rates: Sequence[float]) -> float:
    """Return the planner's objective where workers reply best."""
    return task.account(np.array(best_hours(task, rates)), rates)[0]


def optimum(task: TaxEconomy) -> tuple[float, tuple[float, ...]]:
    """Return the planner's best objective, and the rates that give it."""
    grid = (np.arange(task.config.rate_steps + 1) / task.config.rate_steps).tolist()
    schedules = itertools.product(grid, repeat=len(task.config.brackets))
    return max((planned(task, rates), rates) for rates in schedules)


def course(brackets: Sequence[float], seed: int, steps: int) -> list[dict[str, float]]:
    """Train tables, and return outcomes and returns of every update.

    Args:
        brackets: lower ends of the tax brackets.
        seed: of the run.
        steps: updates.
    """
    record = algorithm("two_level", None, SETTINGS)
    return outcomes(record, ENV, plain(economy(brackets).config), steps, seed)


def before(courses: Sequence[Sequence[dict[str, float]]]) -> tuple[float, ...]:
    """Return the objective in the last updates of the first phase."""
    phase = [one[ALONE - LAST : ALONE] for one in courses]
    return at_end(phase, f"return/{PLANNER}", LAST)


REPRODUCTION = Reproduction(
    name="two_level",
    property="A planner trained above workers who adapt beats no tax with a flat one, and the flat "
    "one with two brackets, in its own objective.",
    source="Zheng et al. 2021, The AI Economist, arXiv 2108.02755 (the trained planner beats "
    "the free market and fixed schedules); references: best replies and all schedules, exact",
    minutes=15.0,
    run=run,
    on="table",
)
