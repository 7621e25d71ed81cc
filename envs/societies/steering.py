"""Steering the herd: a planner sets how precise each citizen's signal is; all watch the actions.

Agents        planner_0; citizen_0 .. citizen_n-1, one after the other
Observation   chat: the planner sees the public belief and all actions; a citizen the belief, the
              earlier actions, the precision of its signal and its own signal
Action        planner: text ending in a precision, e.g. [0.8]; citizen: ending in [good] or [bad]
Reward        citizen: minus `error_cost` if its action is not the state. Planner, for each citizen:
              minus the cost of the precision, and minus `error_cost` for a wrong action
              (altruistic) or a bad one (biased)
              all of it is paid at the end: earlier pay would tell the planner the state
Ends          after the last citizen
Options       see the arguments; prior: public belief at the start that the state is good
References    mean payoff of all seats by default: random -1.89, the best altruistic planner with
              Bayesian citizens -0.49, both exact

The state is drawn with the prior, and with it the luck of all signals. The public belief is that of
an onlooker who takes every citizen for a Bayesian, see herding.py, where the planner's problem is
solved; signals stay private. After Steering the Herd (arXiv 2504.02648).
Experts: the planner that is best for the citizens who are left, Bayesian citizens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.task import Replies, mostly
from coevo.envs.societies.herding import HerdCosts, best_line, informative, updated
from coevo.envs.societies.society import Society, listed

PLANNER = "planner_0"
ACTIONS = ("good", "bad")
MOST = 5
"""Precisions to choose from."""


@config
class SteeringConfig(HerdCosts):
    citizens: Annotated[int, whole(1, 12)] = 6
    """Who act one after the other."""
    prior: Annotated[float, real(above=0, below=1)] = 0.5
    """Public belief at the start that the state is good."""
    precisions: tuple[Annotated[float, real(0.5, 1)], ...] = (0.6, 0.7, 0.8, 0.9, 1.0)
    """What the planner may choose, rising."""

    def __post_init__(self) -> None:
        if not self.precisions or list(self.precisions) != sorted(set(self.precisions)):
            raise ConfigError(f"precisions={list(self.precisions)} must be rising numbers")
        if len({f"{q:.4g}" for q in self.precisions}) < len(self.precisions):
            raise ConfigError(
                f"precisions={list(self.precisions)} must differ in their first four digits"
            )
        if len(self.precisions) > MOST:
            raise ConfigError(
                f"{len(self.precisions)} precisions; at most {MOST} are solved exactly in seconds"
            )

    @property
    def costs(self) -> HerdCosts:
        return HerdCosts(
            planner=self.planner,
            baseline=self.baseline,
            precision_cost=self.precision_cost,
            error_cost=self.error_cost,
        )


class Steering(Society[SteeringConfig]):
    env_id = "coevo/steering-v0"
    config_class = SteeringConfig

    def __init__(self, config: SteeringConfig) -> None:
        super().__init__(config)
        self.citizens = tuple(f"citizen_{i}" for i in range(config.citizens))
        self.seats = (PLANNER, *self.citizens)
        self.precisions = {f"{q:.4g}": q for q in config.precisions}
        dearest = float(config.of_precision(list(config.precisions)).max()) + config.error_cost
        self.payoff_range = (-config.citizens * dearest, 0.0)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        c = self.config
        self.good = bool(rng.random() < c.prior)
        self.luck = rng.random(c.citizens)
        self.belief = c.prior
        self.history: list[tuple[str, str]] = []
        self.errors = 0
        lost = dict.fromkeys(self.seats, 0.0)
        for number, citizen in enumerate(self.citizens):
            self.round = number
            self.precision: str | None = None
            self.precision = yield One(PLANNER, phase="precision", moves=list(self.precisions))
            action = yield One(citizen, phase="action", moves=ACTIONS)
            q, wrong = self.precisions[self.precision], (action == ACTIONS[0]) != self.good
            minded = wrong if c.planner == "altruistic" else action == ACTIONS[1]
            self.errors += wrong
            if informative(self.belief, q):
                up, down = updated(self.belief, q)
                self.belief = float(up if action == ACTIONS[0] else down)
            self.history.append((self.precision, action))
            lost[PLANNER] += float(c.of_precision(q)) + c.error_cost * minded
            lost[citizen] += c.error_cost * wrong
        yield Pay({seat: -cost for seat, cost in lost.items()})

    @property
    def signal(self) -> str:
        """The signal of the next citizen."""
        right = self.luck[self.round] < self.precisions[str(self.precision)]
        return ACTIONS[0] if right == self.good else ACTIONS[1]

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the best precision, or what a Bayesian does; mostly."""
        if seat == PLANNER:
            left = len(self.citizens) - self.round
            line = best_line(
                self.config.costs, round(self.belief, 12), left, self.config.precisions
            )
            return mostly(list(self.precisions), {f"{line.precision:.4g}": 1.0}, skill)
        best = ACTIONS[0] if self.belief >= 0.5 else ACTIONS[1]
        if informative(self.belief, self.precisions[str(self.precision)]):
            best = self.signal
        return mostly(ACTIONS, {best: 1.0}, skill)

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the state, but keep the signal of the citizen who acts now."""
        signal = None if seat == PLANNER else self.signal
        sure = self.precision is not None and self.precisions[self.precision] == 1
        if signal is not None and sure:
            return False
        self.good = bool(rng.random() < 0.5)
        self.luck = rng.random(len(self.citizens))
        while signal is not None and self.signal != signal:
            self.luck[self.round] = rng.random()
        return True

    def info(self, seat: str) -> dict[str, Any]:
        found = {**super().info(seat), "belief": self.belief, "history": list(self.history)}
        if seat == PLANNER:
            return found
        return found | {"precision": self.precisions[str(self.precision)], "signal": self.signal}

    def outcome(self) -> dict[str, float]:
        """Return shares of wrong and of good actions, and the mean precision."""
        if not self.history:
            return {}
        return {
            "errors": self.errors / len(self.history),
            "acted_good": float(np.mean([move == ACTIONS[0] for _, move in self.history])),
            "precision": float(np.mean([self.precisions[q] for q, _ in self.history])),
            "state_good": float(self.good),
        }

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        c = self.config
        lines = [
            "Something is either good or bad; nobody knows which. "
            f"{c.citizens} citizens act one after the other and say good or bad. Each gets a "
            "private signal that is right with a probability, its precision, which a planner sets "
            "and everybody knows. All see the actions, not the signals. The public belief is how "
            "probable good is after the actions so far, if every citizen acted as is best for it."
        ]
        if seat == PLANNER:
            minds = "acts wrongly" if c.planner == "altruistic" else "says bad"
            lines.append(
                f"You are {seat}, the planner. For each citizen you lose {c.error_cost:g} if it "
                f"{minds}, and {c.precision_cost:g} x (precision - {c.baseline:g})^2."
            )
        else:
            lines.append(f"You are {seat}. You lose {c.error_cost:g} if what you say is wrong.")
        lines.append("Your goal is to lose as little as you can.")
        return "\n".join(lines)

    def situation(self, seat: str) -> str:
        past = ", ".join(f"{move} (precision {q})" for q, move in self.history) or "none"
        lines = [f"Actions so far: {past}."]
        if seat == PLANNER:
            lines = [f"{self.citizens[self.round]} is next.", *lines]
        lines.append(f"Public belief that it is good: {self.belief:.3f}.")
        moves = f"Legal moves: {listed(self.moves_of(seat))}"
        if seat == PLANNER:
            return "\n".join([*lines, f"Which precision do you set? {moves}"])
        lines.append(f"Your signal, of precision {self.precision}: {self.signal}.")
        return "\n".join([*lines, f"What do you say? {moves}"])

    def terse(self, seat: str) -> str:
        c = self.config
        known = f"P(good) {self.belief:.3f}."
        ask = f"Answer {' or '.join(map(answer, self.moves_of(seat)))}"
        if seat == PLANNER:
            minds = "errors" if c.planner == "altruistic" else "bad"
            cost = f"{c.precision_cost:g} (q-{c.baseline:g})^2"
            left = f"{len(self.citizens) - self.round} left."
            asked = f"Signal precision q: costs {cost}, {minds} {c.error_cost:g}."
            return f"{asked} {known} {left} q: {' '.join(self.precisions)}. Answer [move]"
        return f"Good or bad? {known} Signal {self.signal}, right with {self.precision}. {ask}"

    def draw(self) -> str:
        luck = " ".join(f"{number:.2f}" for number in self.luck)
        lines = [f"the state is {ACTIONS[0] if self.good else ACTIONS[1]}; luck of signals: {luck}"]
        lines += [
            f"{a}: {move}, precision {q}"
            for a, (q, move) in zip(self.citizens, self.history, strict=False)
        ]
        return "\n".join([*lines, f"public belief in good: {self.belief:.3f}"])


raw_env, env = turn_based(Steering)
