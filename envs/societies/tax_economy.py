"""The one-step economy: a planner sets tax rates, then all workers choose how much to work.

Agents        planner_0; worker_0 .. worker_n-1, who choose at the same time
Observation   chat: the planner sees all skills; a worker its own skill and the rates
Action        planner: text ending in the rate of the bracket that it is asked for, e.g. [30%];
              worker: text ending in hours, e.g. [40]
Reward        at the end. Worker: coins after taxes and an equal share of the revenue, minus the
              cost of its hours. Planner: by `objective`, evenness of coins x output per head, or
              the mean utility weighted by 1 / skill
Ends          after the workers' choice
Options       see the arguments
References    mean payoff of all seats by default: random 46.3 (exact), the best flat tax with
              workers who reply to it 65.3, which is no maximum; the rate is 25 %, and the planner
              gets 54.7, without taxes 46.7

The economy is that of the AI Economist (Zheng et al. 2022; salesforce/ai-economist, one-step
economy), with fixed skills, `evenness` for its coin equality and a cost of hours scaled so that
hours lie between 0 and 100. A worker of skill s who works L hours earns z = s L and has utility
coin - c L^d; it replies to a flat rate t with L* = ((1 - t) s / (c d))^e, e = 1 / (d - 1), its own
share of its tax left aside, and `even_output_optimum` is the best flat rate: 25.4 % by default.
Experts: workers reply to their marginal rate without regard to their share of the revenue; the
planner sets the grid's best flat rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.protocol import All, One, Pay, Protocol
from coevo.envs.core.task import Replies, mostly
from coevo.envs.societies.society import Society, listed

Array = NDArray[np.float64]
PLANNER = "planner_0"
AIMS = {
    "even_output": "evenness x output",
    "welfare": "points / skill",
    "inverse_income": "points / coins",
}
"""What the planner gets, in a word."""
HOURS = 100.0
"""Most hours that a worker can work."""


@config
class TaxEconomyConfig:
    skills: tuple[Annotated[float, real(above=0)], ...] = (1.0, 1.5, 2.0, 4.0)
    """Coins that a worker earns in an hour; two or more workers."""
    brackets: tuple[Annotated[float, real(0)], ...] = (0.0,)
    """Lower ends of the tax brackets in coins, rising from 0; one bracket is a flat tax."""
    rate_steps: Annotated[int, whole(1, 100)] = 20
    """Rates are multiples of 1 / rate_steps."""
    hour_steps: Annotated[int, whole(1, 100)] = 20
    """Hours are multiples of 100 / hour_steps."""
    cost: Annotated[float, real(above=0)] = 0.02
    """c in the cost c L^d of L hours."""
    power: Annotated[float, real(above=1, high=10)] = 2.0
    """d in the cost c L^d."""
    objective: Literal["even_output", "welfare", "inverse_income"] = "even_output"
    """What the planner gets: evenness x output per head, or utility weighted by 1 / skill, or by 1
    / coins after tax and share (at least 1), as the released code of the AI Economist weights."""

    def __post_init__(self) -> None:
        if len(self.skills) < 2:
            raise ConfigError(f"skills={list(self.skills)} must be two or more")
        rising = list(self.brackets) == sorted(set(self.brackets))
        if not self.brackets or self.brackets[0] != 0 or not rising:
            raise ConfigError(f"brackets={list(self.brackets)} must rise from 0")


class TaxEconomy(Society[TaxEconomyConfig]):
    env_id = "coevo/tax_economy-v0"
    config_class = TaxEconomyConfig

    def __init__(self, config: TaxEconomyConfig) -> None:
        super().__init__(config)
        self.skills = np.array(config.skills)
        self.workers = tuple(f"worker_{i}" for i in range(len(config.skills)))
        self.seats = (PLANNER, *self.workers)
        self.rates = [f"{100 * n / config.rate_steps:.4g}%" for n in range(config.rate_steps + 1)]
        self.hours = [f"{HOURS * n / config.hour_steps:.4g}" for n in range(config.hour_steps + 1)]
        worst = config.cost * HOURS**config.power
        most = float(self.skills.max()) * HOURS
        self.payoff_range = (-worst, most)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.set: list[str] = []
        self.worked: dict[str, float] = {}
        for _ in self.config.brackets:
            self.set.append((yield One(PLANNER, phase="tax", moves=self.rates)))
        hours = yield All(self.workers, phase="work", moves=self.hours)
        self.worked = {seat: float(hours[seat]) for seat in self.workers}
        worked = np.array(list(self.worked.values()))
        planner, utilities = self.account(worked, [_share(rate) for rate in self.set])
        yield Pay({PLANNER: planner, **dict(zip(self.workers, utilities, strict=True))})

    def account(self, hours: Array, rates: Sequence[float]) -> tuple[float, Array]:
        """Return the planner's payoff and the workers' utilities."""
        c = self.config
        income = self.skills * hours
        coin = coins(income, c.brackets, rates)
        utility = coin - c.cost * hours**c.power
        if c.objective == "even_output":
            return evenness(coin) * float(income.mean()), utility
        weights = 1 / (self.skills if c.objective == "welfare" else np.maximum(coin, 1.0))
        return float((weights * utility).sum() / weights.sum()), utility

    def wanted_hours(self, skill: float, rates: Sequence[float]) -> str:
        """Return the hours on the grid that are best for a worker who ignores the revenue."""
        hours = np.array([float(h) for h in self.hours])
        income = skill * hours
        kept = income - tax_due(income, self.config.brackets, rates)
        return self.hours[int((kept - self.config.cost * hours**self.config.power).argmax())]

    def flat_optimum(self) -> str:
        """Return the flat rate on the grid that is best for the planner if workers reply to it."""
        worth = []
        for rate in self.rates:
            rates = [_share(rate)] * len(self.config.brackets)
            hours = np.array([float(self.wanted_hours(s, rates)) for s in self.skills])
            worth.append(self.account(hours, rates)[0])
        return self.rates[int(np.argmax(worth))]

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the best flat rate, or the hours that a rate is worth; mostly."""
        if seat == PLANNER:
            return mostly(self.rates, {self.flat_optimum(): 1.0}, skill)
        own = float(self.skills[self.workers.index(seat)])
        best = self.wanted_hours(own, [_share(rate) for rate in self.set])
        return mostly(self.hours, {best: 1.0}, skill)

    def info(self, seat: str) -> dict[str, Any]:
        found = {**super().info(seat), "brackets": list(self.config.brackets)}
        found["rates"] = [_share(rate) for rate in self.set]
        if seat == PLANNER:
            return found | {"skills": list(self.config.skills)}
        return found | {"skill": float(self.skills[self.workers.index(seat)])}

    def outcome(self) -> dict[str, float]:
        """Return output per head, evenness of coins, mean tax rate and mean hours."""
        hours = np.array(list(self.worked.values()))
        if not len(hours):
            return {}
        income, rates = self.skills * hours, [_share(rate) for rate in self.set]
        due = tax_due(income, self.config.brackets, rates).sum()
        return {
            "output": float(income.mean()),
            "evenness": evenness(coins(income, self.config.brackets, rates)),
            "tax_rate": float(due / income.sum()) if income.sum() else 0.0,
            "hours": float(hours.mean()),
        }

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        c = self.config
        cost = f"{c.cost:g} x hours^{c.power:g}"
        lines = [
            f"In a small economy {len(self.workers)} workers choose how many hours to work, 0 to "
            "100. An hour earns a worker as many coins as its skill says. First a planner sets "
            "what share of the coins is taken as tax; all that is taken is then shared out equally."
        ]
        if seat == PLANNER:
            skills = ", ".join(f"{s:g}" for s in self.skills)
            aim = "the mean number of coins earned, times how evenly coins are spread (0 to 1)"
            if c.objective == "welfare":
                aim = "the mean of the workers' points, weighted by 1 / skill"
            elif c.objective == "inverse_income":
                aim = (
                    "the mean of the workers' points, weighted by 1 / coins after tax and share "
                    "(at least 1)"
                )
            lines.append(
                f"You are {seat}, the planner. The workers' skills are {skills}. A worker gets its "
                f"coins minus {cost}. Your points are {aim}."
            )
        else:
            own = self.skills[self.workers.index(seat)]
            lines.append(
                f"You are {seat}; your skill is {own:g}. Your points are your coins after tax "
                f"and share, minus {cost}."
            )
        lines.append("Your goal is to get as many points as you can.")
        return "\n".join(lines)

    def situation(self, seat: str) -> str:
        if seat == PLANNER:
            lines = [f"Set so far: {self._schedule()}."] if self.set else []
            asked = f"What share do you take of {self._bracket(len(self.set))}?"
            return "\n".join([*lines, f"{asked} Legal moves: {listed(self.rates)}"])
        asked = f"How many hours do you work? Legal moves: {listed(self.hours)}"
        return f"Taxes: {self._schedule()}.\n{asked}"

    def _bracket(self, place: int) -> str:
        edges = [*self.config.brackets[1:], None]
        low, high = self.config.brackets[place], edges[place]
        if len(self.config.brackets) == 1:
            return "all coins"
        return f"coins over {low:g}" if high is None else f"coins from {low:g} to {high:g}"

    def _schedule(self) -> str:
        return ", ".join(f"{rate} of {self._bracket(i)}" for i, rate in enumerate(self.set))

    def terse(self, seat: str) -> str:
        c = self.config
        if seat == PLANNER:
            skills = " ".join(f"{s:g}" for s in self.skills)
            aim = AIMS[c.objective]
            done = f" So far {' '.join(self.set)}." if self.set else ""
            bracket = self._bracket(len(self.set))
            return f"Tax {bracket} for {aim}. Skills {skills}.{done} Answer {listed(self.rates, 3)}"
        own = self.skills[self.workers.index(seat)]
        return (
            f"Work for {own:g} an hour, cost {c.cost:g} hours^{c.power:g}. Tax {self._schedule()}, "
            f"shared out. Answer {listed(self.hours, 3)}"
        )

    def draw(self) -> str:
        lines = [f"taxes: {self._schedule() or 'not set'}"]
        lines += [
            f"{seat} of skill {s:g} works {hours:g} hours"
            for (seat, hours), s in zip(self.worked.items(), self.skills, strict=False)
        ]
        return "\n".join(lines)


def tax_due(income: ArrayLike, brackets: Sequence[float], rates: Sequence[float]) -> Array:
    """Return the tax on incomes.

    Args:
        income: z, of any shape.
        brackets: lower ends, rising from 0.
        rates: marginal rate in each bracket.

    >>> tax_due([50.0, 150.0], [0.0, 100.0], [0.1, 0.5]).tolist()
    [5.0, 35.0]
    """
    z = np.asarray(income, dtype=float)[..., None]
    upper = np.array([*brackets[1:], np.inf])
    inside = np.clip(np.minimum(z, upper) - np.array(brackets), 0.0, None)
    return np.asarray((inside * np.array(rates)).sum(axis=-1))


def coins(income: ArrayLike, brackets: Sequence[float], rates: Sequence[float]) -> Array:
    """Return the coins of all after taxes and an equal share of the revenue."""
    z = np.asarray(income, dtype=float)
    due = tax_due(z, brackets, rates)
    return np.asarray(z - due + due.sum() / len(z))


def evenness(coin: ArrayLike) -> float:
    """Return 1 - Gini N / (N - 1): 1 where all have the same, 0 where one has everything.

    Where none has anything all have the same.

    >>> evenness([2.0, 2.0]), evenness([4.0, 0.0]), evenness([0.0, 0.0])
    (1.0, 0.0, 1.0)
    """
    x = np.asarray(coin, dtype=float)
    if x.sum() <= 0:
        return 1.0
    gini = np.abs(x[:, None] - x).sum() / (2 * len(x) * x.sum())
    return float(1 - gini * len(x) / (len(x) - 1))


def best_labour(skill: ArrayLike, rate: float, cost: float, power: float) -> Array:
    """Return the hours that a worker wants under a flat rate: ((1 - t) s / (c d))^(1 / (d - 1)).

    >>> best_labour([1.0, 4.0], 0.5, 1.0, 2.0).tolist()
    [0.25, 1.0]
    """
    s = np.asarray(skill, dtype=float)
    return np.asarray(((1 - rate) * s / (cost * power)) ** (1 / (power - 1)))


def even_output_optimum(skills: Sequence[float], power: float) -> float:
    """Return the flat rate that is best for evenness x output: max(0, 1 - e / (g (1 + e))).

    g is the Gini index of incomes times N / (N - 1): with x = 1 - t the planner maximises
    (1 - x g) x^e.

    >>> round(even_output_optimum([1, 1.5, 2, 4], 2.0), 3)
    0.254
    """
    e = 1 / (power - 1)
    g = 1 - evenness(np.asarray(skills, dtype=float) ** (1 + e))
    return max(0.0, 1 - e / (g * (1 + e))) if g > 0 else 0.0


def welfare_optimum(skills: Sequence[float], weights: Sequence[float], power: float) -> float:
    """Return the flat rate that is best for sum_i w_i u_i: (1 - G) / (1 - G + e), at least 0.

    G = sum(w Y) / (mean(Y) sum(w)) over incomes Y (Saez 2001 for fixed weights).

    >>> round(welfare_optimum([1, 1.5, 2, 4], [1, 1 / 1.5, 1 / 2, 1 / 4], 2.0), 3)
    0.283
    """
    e = 1 / (power - 1)
    y = np.asarray(skills, dtype=float) ** (1 + e)
    w = np.asarray(weights, dtype=float)
    rest = 1 - float((w * y).sum() / (y.mean() * w.sum()))
    return max(0.0, rest / (rest + e)) if rest + e > 0 else 0.0


def _share(rate: str) -> float:
    return float(rate.removesuffix("%")) / 100


raw_env, env = turn_based(TaxEconomy)
