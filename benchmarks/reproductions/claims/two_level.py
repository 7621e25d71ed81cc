"""Two-level training: a planner who taxes high incomes most beats the flat tax, and that no tax."""

import itertools
from collections.abc import Sequence
from statistics import fmean

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect, Once, near
from coevo.benchmarks.reproductions.run import QUICKLY, Arm, Trained, World
from coevo.envs.core.config import plain
from coevo.envs.societies.tax_economy import PLANNER, TaxEconomy, TaxEconomyConfig, tax_due
from coevo.trainers.algorithms.two_level import cycle

ALONE, LAST = 150, 20
FLAT, BRACKETS = (
    TaxEconomy(TaxEconomyConfig(brackets=brackets, rate_steps=4, hour_steps=4))
    for brackets in ((0.0,), (0.0, 100.0))
)


def _best_hours(task: TaxEconomy, rates: Sequence[float]) -> list[float]:
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


def _planned(task: TaxEconomy, rates: Sequence[float]) -> float:
    return task.account(np.array(_best_hours(task, rates)), rates)[0]


def _optimum(task: TaxEconomy) -> tuple[float, tuple[float, ...]]:
    grid = (np.arange(task.config.rate_steps + 1) / task.config.rate_steps).tolist()
    schedules = itertools.product(grid, repeat=len(task.config.brackets))
    return max((_planned(task, rates), rates) for rates in schedules)


def _measure(end: Trained) -> dict[str, float]:
    objective = f"return/{PLANNER}"
    before = [update[objective] for update in end.log[ALONE - LAST : ALONE]]
    return {
        "drawn": fmean(before) if before else float("nan"),
        "objective": end.last(LAST, objective),
        "hours": end.last(LAST, "outcome/hours"),
    }


(BEST_FLAT, RATE), (BEST_TWO, RATES) = _optimum(FLAT), _optimum(BRACKETS)
WITHIN = (BEST_TWO - BEST_FLAT) / 2
CLAIM = Claim(
    property="""A planner trained above workers who adapt beats no tax with a flat one, and the flat
        one with two brackets, in its own objective.""",
    source="""Zheng et al. 2021, The AI Economist, arXiv 2108.02755 (the trained planner beats the
        free market and fixed schedules); references: best replies and all schedules, exact""",
    minutes=15.0,
    on="table",
    setting="""The one-step economy (`coevo/tax_economy-v0`): four workers of skills 1, 1.5, 2 and
        4, hours and rates in quarters. Tables, one per seat, `two_level`; the planner's from update
        150 on, at two fifths of the workers' rate.""",
    theory="""A worker's best hours do not depend on what others do, so that every schedule has one
        answer; the references are the best schedule with it, exact.""",
    measured="""The planner's objective, evenness of coins times output per head, in the last 20 of
        400 updates: with one rate for all coins, and with a rate of its own for coins over 100.""",
    chosen="""Sizes and rates. The bound on both objectives is half of what separates the two
        optima, 3.1, and on hours a quarter of a step of the grid.""",
    note=f"""the best two rates are {RATES[0]:.0%} and {RATES[1]:.0%}, the best one {RATE[0]:.0%};
        an objective above the reference means workers who settled on more hours than are best for
        them""",
    world=World("coevo/tax_economy-v0", 400),
    changes={
        **QUICKLY,
        "cycle": cycle(ALONE),
        "optim.lr": 0.1,
        "optim_of": {PLANNER: {"lr": 0.04}},
    },
    arms={
        "untaxed": Once(lambda seed: {"objective": _planned(FLAT, (0.0,))}),
        "flat": Arm("two_level", options=plain(FLAT.config)),
        "two": Arm("two_level", options=plain(BRACKETS.config)),
    },
    measure=_measure,
    expect=(
        Expect("no tax: objective, by best replies", "untaxed.objective"),
        Expect("drawn rates: objective before the planner learns", "two.drawn"),
        near("flat tax: objective", "flat.objective", BEST_FLAT, WITHIN),
        near("two brackets: objective", "two.objective", BEST_TWO, WITHIN),
        Expect("flat tax above none", "flat.objective - untaxed.objective", low=0.0),
        Expect("two brackets above flat", "two.objective - flat.objective", low=0.0),
        near("two brackets: mean hours", "two.hours", fmean(_best_hours(BRACKETS, RATES)), 25 / 4),
    ),
)
