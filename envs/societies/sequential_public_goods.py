"""Sequential public goods: give in turn to a common pot, seeing what was given before.

Agents        player_0 .. player_n-1, who give in this order
Observation   chat: the rules, then what the earlier players gave (all of them, or the last one)
Action        text ending in a contribution between 0 and 1, e.g. [0.4]
Reward        for every player at the end: minus the own cost, plus a bonus for building on earlier
              contributions, plus an equal share of the grown pot, minus a penalty for all where the
              sum misses the threshold
Ends          after the last player
Options       see the arguments; bonus: 0 with penalty: 0 is plain public goods, in which giving
              nothing is the only equilibrium
References    mean payoff of a seat: random 0.60, equilibrium 1.70 on the path 0.4, 1, 1;
              highest 2.56 where all give 1, the oracle

The payoff is that of MAC-SPGG (arXiv 2508.02076), see sequential_goods.py, where the equilibrium is
solved by backward induction. There, language models write parts of an answer and a judge scores
each as the contribution; here the contribution is stated, so that the game is exact.
Experts play the equilibrium strategy, off its path as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from coevo.envs.core.config import config
from coevo.envs.core.factories import turn_based
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.task import Replies, mostly
from coevo.envs.societies.sequential_goods import (
    GoodsConfig,
    equilibrium,
    payoff_bounds,
    payoffs,
)
from coevo.envs.societies.society import Society, listed


@config
class SequentialPublicGoodsConfig(GoodsConfig):
    sees: Literal["all", "last"] = "all"
    """Whose contributions a player is shown: those of all before it, or of the last one alone."""


class SequentialPublicGoods(Society[SequentialPublicGoodsConfig]):
    env_id = "coevo/sequential_public_goods-v0"
    config_class = SequentialPublicGoodsConfig
    phase = "contribute"

    def __init__(self, config: SequentialPublicGoodsConfig) -> None:
        super().__init__(config)
        self.seats = tuple(f"player_{i}" for i in range(config.players))
        self.steps = config.levels - 1
        self.moves = [f"{level / self.steps:.4g}" for level in range(config.levels)]
        self.payoff_range = payoff_bounds(config)
        self.solution = equilibrium(config)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.given: list[int] = []
        for seat in self.seats:
            move = yield One(seat, moves=self.moves)
            self.given.append(self.moves.index(move))
        paid = payoffs(self.config, [level / self.steps for level in self.given])
        yield Pay(dict(zip(self.seats, paid, strict=True)))

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the equilibrium's contribution after what was given, mostly."""
        best = int(self.solution.best[len(self.given), sum(self.given)])
        return mostly(self.moves, {self.moves[best]: 1.0}, skill)

    def info(self, seat: str) -> dict[str, Any]:
        return {**super().info(seat), "given": [float(self.moves[i]) for i in self._seen()]}

    def outcome(self) -> dict[str, float]:
        """Return the sum of contributions, each of them, and whether the threshold was met."""
        given = [level / self.steps for level in self.given]
        total = sum(given)
        return {
            "contributed": total,
            "threshold_met": float(total >= self.config.threshold - 1e-12),
            **{f"contributed/{a}": c for a, c in zip(self.seats, given, strict=False)},
        }

    def _seen(self) -> list[int]:
        return self.given if self.config.sees == "all" else self.given[-1:]

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        c, place = self.config, self.seats.index(seat) + 1
        power = "" if c.power == 1 else f" to the power of {c.power:g}"
        parts = [
            f"You are {seat}, number {place} of {c.players} players who give to a common pot, one "
            f"after the other. Each gives a number from 0 to 1.",
            "In the end each player's points are:",
            f"- minus {c.cost:g} times the own contribution{power};",
            f"- plus {c.multiplier / c.players:.4g} times the sum of all contributions;",
        ]
        if c.bonus:
            parts.append(
                f"- plus {c.bonus / c.threshold:.4g} times the own contribution times the sum of "
                "those before;"
            )
        if c.penalty:
            parts.append(
                f"- minus {c.penalty:g} for everybody if the sum of all contributions is under "
                f"{c.threshold:g}."
            )
        parts.append("Your goal is to get as many points as you can.")
        return "\n".join(parts)

    def situation(self, seat: str) -> str:
        first = len(self.given) - len(self._seen())
        seen = [
            f"{self.seats[first + i]} gave {self.moves[g]}." for i, g in enumerate(self._seen())
        ]
        left = len(self.seats) - len(self.given) - 1
        now = f"After you {left} more will give." if left else "You are the last to give."
        lines = [*(seen or ["Nothing was given yet."]), now]
        return "\n".join([*lines, f"Your contribution? Legal moves: {listed(self.moves)}"])

    def terse(self, seat: str) -> str:
        c = self.config
        power = "" if c.power == 1 else f"^{c.power:g}"
        parts = [f"Points {c.multiplier / c.players:.3g} sum", f"- {c.cost:g} own{power}"]
        parts += [f"+ {c.bonus / c.threshold:.3g} own*before"] * bool(c.bonus)
        parts += [f"- {c.penalty:g} if sum < {c.threshold:g}"] * bool(c.penalty)
        seen = " ".join(self.moves[g] for g in self._seen()) or "none"
        left = len(self.seats) - len(self.given) - 1
        return f"{' '.join(parts)}. Before: {seen}. {left} left. Answer {listed(self.moves, 3)}"

    def draw(self) -> str:
        given = [f"{a} gave {self.moves[g]}" for a, g in zip(self.seats, self.given, strict=False)]
        return "\n".join([*given, f"pot: {sum(self.given) / self.steps:.4g}"])


raw_env, env = turn_based(SequentialPublicGoods)
