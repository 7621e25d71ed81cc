"""Reward formula: write what an agent is rewarded for; it does what the formula likes best.

Agents        writer_0; with part=answers, solver_0
Observation   chat: what can be seen of an answer, and what is wanted
Action        a formula such as [g1 + g2]: one of the list, or with formulas=() any in brackets;
              part=answers: one of four kinds of answer
Reward        what the answers are worth that the formula likes best, on average, and -1 for one
              that cannot be read; part=answers: what the answer is worth
Ends          after one reply
Options       part=formula (answers); formulas: those to choose from
References    random 0.3854 and oracle 1, exact

The formula bandit of DERL (Cheng et al. 2025, arXiv 2512.13399), with the four things that its
formulas for mathematics read:

    answer     g1 right  g2 boxed  g3 with steps  g4 gold answer anywhere   worth
    reasoned      1         1           1                  1                 1.0
    guessed       1         0           0                  1                 0.5
    padded        0         1           1                  0                 0.0
    quoted        0         1           0                  1                 0.0

An agent that learns by a formula plays the other part, `part=answers`, whose turns note g1 to g4
for the reward modules `noted` and `formula`. The writer is paid here as if that agent learnt all
that there is to learn; the algorithm `derl` pays it for what the agent does learn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isclose
from statistics import fmean
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import Parse, answer, heard, missing
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies, mostly
from coevo.envs.rewards.formula import evaluated, parsed

WRITER, SOLVER = "writer_0", "solver_0"
SEEN: dict[str, tuple[int, int, int, int]] = {
    "reasoned": (1, 1, 1, 1),
    "guessed": (1, 0, 0, 1),
    "padded": (0, 1, 1, 0),
    "quoted": (0, 1, 0, 1),
}
"""Answer -> what is seen of it: right, boxed, with steps, the gold answer anywhere."""
WORTH = {"reasoned": 1.0, "guessed": 0.5, "padded": 0.0, "quoted": 0.0}
TERMS = {
    "g1": "it is right",
    "g2": "it is in a box",
    "g3": "it shows steps",
    "g4": "it holds the right answer somewhere",
}
FORMULAS = ("g1", "g2", "g3", "g4", "g1 * g3", "g1 + g3", "g2 - g1", "g1 * (g3")
BEST = "g1 * g3"
_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
SHIFT = 1e-6
"""Added to every term, as `formula` does."""


def worth(formula: str) -> float:
    """Return what the answers are worth that a formula likes best; -1 if it cannot be read.

    >>> worth("g1 + g3"), worth("g1"), worth("g1 * (g3")
    (1.0, 0.75, -1.0)
    """
    try:
        tree = parsed(formula, TERMS)
        liked = {
            kind: evaluated(tree, {g: n + SHIFT for g, n in zip(TERMS, seen, strict=True)})
            for kind, seen in SEEN.items()
        }
    except (ConfigError, ArithmeticError):
        return -1.0
    best = max(liked.values())
    return fmean(WORTH[kind] for kind, value in liked.items() if isclose(value, best))


def _formula(text: str) -> str | Parse:
    """Return the last formula in brackets of a reply."""
    found = _BRACKETS.findall(heard(text))
    return found[-1].strip() if found else missing(text, "formula in brackets")


@config
class RewardFormulaConfig:
    part: Literal["formula", "answers"] = "formula"
    """Whether the seat writes a formula, or gives the answers that formulas judge."""
    formulas: tuple[Annotated[str, Field(min_length=1, pattern=r"^[^\[\]]+$")], ...] = FORMULAS
    """Those that the writer chooses from; empty for any."""


class RewardFormula(ProtocolTask[RewardFormulaConfig]):
    env_id = "coevo/reward_formula-v0"
    config_class = RewardFormulaConfig
    draws = False

    def __init__(self, config: RewardFormulaConfig) -> None:
        super().__init__(config)
        self.writes = config.part == "formula"
        self.seats = (WRITER if self.writes else SOLVER,)
        self.payoff_range = (-1.0 if self.writes else 0.0, 1.0)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        (seat,) = self.seats
        self.said = ""
        moves = self.config.formulas if self.writes else tuple(SEEN)
        if moves:
            self.said = yield One(seat, moves=moves)
        else:
            self.said = yield One(seat, read=_formula, form="End your reply with [your formula].")
        yield Pay({seat: worth(self.said) if self.writes else WORTH[self.said]})

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        if self.writes:
            turn.answer = turn.move
        elif turn.move in SEEN:
            turn.notes |= dict(zip(TERMS, SEEN[turn.move], strict=True))

    def expert(self, seat: str, skill: float) -> Replies:
        """Return what is worth most with probability `skill`, else any."""
        if not self.writes or self.config.formulas:
            moves = self.moves_of(seat)
            value = worth if self.writes else WORTH.__getitem__
            return mostly(moves, {max(moves, key=value): 1.0}, skill)
        return Replies((answer(BEST), answer("g4")), np.array([skill, 1 - skill]))

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        seen = "; ".join(f"{term} is 1 if {what}, and else 0" for term, what in TERMS.items())
        if not self.writes:
            return (
                "You answer questions, in one of four ways: with steps to the right answer "
                "(reasoned), with the right answer alone (guessed), with steps to a wrong answer "
                "(padded), or with a wrong answer that quotes the right one (quoted). Right "
                f"answers are wanted, with their steps.\nYou are {seat}."
            )
        return (
            "An agent that answers questions is going to be rewarded by a formula, and will give "
            f"the answers that the formula likes best. Of an answer {seen}. A formula adds, "
            "subtracts, multiplies or divides these and numbers. Right answers are wanted, with "
            "their steps: you earn up to 1 for what the agent comes to, and lose 1 for a formula "
            f"that cannot be read.\nYou are {seat}."
        )

    def situation(self, seat: str) -> str:
        asked = "Which formula?" if self.writes else "How do you answer?"
        moves = self.moves_of(seat)
        return f"{asked} Legal moves: {', '.join(map(answer, moves))}" if moves else asked

    def terse(self, seat: str) -> str:
        moves = " ".join(map(answer, self.moves_of(seat)))
        if not self.writes:
            return f"How do you answer? {moves}"
        seen = ", ".join(("g1 right", "g2 boxed", "g3 steps", "g4 gold inside"))
        return f"Reward formula of {seen}. Answer {moves or '[formula]'}"

    def draw(self) -> str:
        return self.said or "nothing is said yet"

    def outcome(self) -> dict[str, float]:
        """Return whether the best answer is liked best or given, and whether a formula is read."""
        if not self.said:
            return {}
        value = worth(self.said) if self.writes else WORTH[self.said]
        found = {"best": float(value == 1.0)}
        return found | ({"readable": float(value >= 0)} if self.writes else {})


raw_env, env = turn_based(RewardFormula)
