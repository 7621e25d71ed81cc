"""The one-step economy: a planner sets tax rates, then everybody chooses how much to work.

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
hours lie between 0 and 100. taxation.py has the optimal flat tax in closed form: 25.4 % by default.
Experts: workers reply to their marginal rate without regard to their share of the revenue; the
planner sets the grid's best flat rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT, answer
from coevo.envs.core.task import Replies, mostly
from coevo.envs.societies.society import Society, listed
from coevo.envs.societies.taxation import coins, evenness, tax_due

PLANNER = "planner_0"
HOURS = 100.0
"""Most that anybody can work."""


@config
class TaxEconomyConfig:
    """What the economy takes."""

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
    objective: Literal["even_output", "welfare"] = "even_output"
    """What the planner gets: evenness x output per head, or utility weighted by 1 / skill."""

    def __post_init__(self) -> None:
        if len(self.skills) < 2:
            raise ConfigError(f"skills={list(self.skills)} must be two or more")
        rising = list(self.brackets) == sorted(set(self.brackets))
        if not self.brackets or self.brackets[0] != 0 or not rising:
            raise ConfigError(f"brackets={list(self.brackets)} must rise from 0")


class TaxEconomy(Society[TaxEconomyConfig]):
    """Rates, then hours."""

    env_id = "coevo/tax_economy-v0"
    config_class = TaxEconomyConfig
    round = 0

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

    # ---- Rules ---------------------------------------------------------------------------------

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        self.set: list[str] = []
        self.worked: dict[str, float] = {}

    @property
    def phase(self) -> str:  # type: ignore[override]
        """Whether rates are set or hours chosen."""
        return "tax" if len(self.set) < len(self.config.brackets) else "work"

    def to_move(self) -> Sequence[str]:
        if self.worked:
            return ()
        return (PLANNER,) if self.phase == "tax" else self.workers

    def legal(self, seat: str) -> Sequence[str]:
        return self.rates if seat == PLANNER else self.hours

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        if self.phase == "tax":
            self.set.append(moves[PLANNER])
            return {}
        self.worked = {seat: float(moves[seat]) for seat in self.workers}
        hours = np.array(list(self.worked.values()))
        planner, utilities = self.account(hours, [_share(rate) for rate in self.set])
        return {PLANNER: planner, **dict(zip(self.workers, map(float, utilities), strict=True))}

    def account(
        self, hours: NDArray[np.float64], rates: Sequence[float]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the planner's payoff and the workers' utilities."""
        c = self.config
        income = self.skills * hours
        coin = coins(income, c.brackets, rates)
        utility = coin - c.cost * hours**c.power
        if c.objective == "even_output":
            return evenness(coin) * float(income.mean()), utility
        return float((utility / self.skills).sum() / (1 / self.skills).sum()), utility

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
            lines.append(
                f"You are the planner. The workers' skills are {skills}. A worker gets its coins "
                f"minus {cost}. Your points are {aim}."
            )
        else:
            own = self.skills[self.workers.index(seat)]
            lines.append(
                f"You are {seat}; your skill is {own:g}. Your points are your coins after tax "
                f"and share, minus {cost}."
            )
        lines.append("Your goal is to get as many points as you can.")
        example = answer(self.rates[1] if seat == PLANNER else self.hours[1])
        return "\n".join([*lines, ANSWER_FORMAT.format(example=example)])

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
            aim = "evenness x output" if c.objective == "even_output" else "points / skill"
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


def _share(rate: str) -> float:
    return float(rate.removesuffix("%")) / 100


raw_env = raw_factory(TaxEconomy)
env = aec_factory(TaxEconomy)
