"""Reward formulas as arms, and the task that they are for: everything DERL needs, for tables.

formula    One seat writes a formula: it names one of a list, of which one cannot be read.
answer     One seat gives one of four answers. What can be seen of it is noted, 0 or 1: right (g1),
           boxed (g2), with steps (g3), the gold string somewhere (g4). Payoff is 1 for the right
           answer with its steps, 0.5 for the right answer without, else 0.

           answer     g1 g2 g3 g4  payoff        arms that a formula rewards most
           reasoned    1  1  1  1  1.0           g1 * g3 and g1 + g3: reasoned alone
           guessed     1  0  0  1  0.5           g1: reasoned and guessed alike
           padded      0  1  1  0  0.0           g2, g3: reasoned and padded, g4: three of them
           quoted      0  1  0  1  0.0           g2 - g1: padded and quoted
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from coevo.envs.core.config import config
from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.registry import register
from coevo.envs.core.task import Task

SEAT = "player_0"
ID = "coevo/formulas-v0"
LIST = ("g1", "g2", "g3", "g4", "g1 * g3", "g1 + g3", "g2 - g1", "g1 * (g3")
BEST = ("g1 * g3", "g1 + g3")
BROKEN = "g1 * (g3"
SEEN = {
    "reasoned": (1, 1, 1, 1),
    "guessed": (1, 0, 0, 1),
    "padded": (0, 1, 1, 0),
    "quoted": (0, 1, 0, 1),
}
PAYOFF = {"reasoned": 1.0, "guessed": 0.5, "padded": 0.0, "quoted": 0.0}


@config
class FormulasConfig:
    """What the task takes."""

    asks: Literal["formula", "answer"] = "formula"
    """What the seat gives."""


class Formulas(Task[FormulasConfig]):
    """One seat, one move: a formula, or an answer that formulas are about."""

    env_id = ID
    config_class = FormulasConfig
    seats = (SEAT,)
    payoff_range = (0.0, 1.0)

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Nothing is drawn."""
        self.over = False

    def to_move(self) -> Sequence[str]:
        """Return the seat until it has moved."""
        return () if self.over else self.seats

    def legal(self, seat: str) -> Sequence[str]:
        """Return the formulas, or the answers."""
        return LIST if self.config.asks == "formula" else tuple(SEEN)

    def describe(self, seat: str, turn: Turn) -> None:
        """Note what can be seen of an answer."""
        super().describe(seat, turn)
        if turn.move in SEEN:
            turn.notes |= {f"g{i}": g for i, g in enumerate(SEEN[turn.move], start=1)}

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """End; an answer has its payoff, what a formula is worth others say."""
        self.over = True
        return {SEAT: PAYOFF.get(moves[SEAT], 0.0)}

    def rules(self, seat: str) -> str:
        """Ask for the move."""
        return f"Give one {self.config.asks}. {ANSWER_FORMAT}"

    def situation(self, seat: str) -> str:
        """Ask for it."""
        return f"Which {self.config.asks}?"

    def terse(self, seat: str) -> str:
        """Ask for it."""
        return self.situation(seat)

    def draw(self) -> str:
        """Say whether it is over."""
        return "over" if self.over else "open"


raw_env = raw_factory(Formulas)
env = aec_factory(Formulas)
register(ID, __name__, "a reward formula, or an answer", kind="cooperative", seats=1, listed=False)
