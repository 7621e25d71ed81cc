"""A choice among arms in one of several contexts, for tables; every context pays as it pays.

One seat, one move. The context is drawn, and is the task: episodes of a group have the same. What
an arm is worth beside its payoff, the same in all contexts, is noted as `beside`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from coevo.agents.policy import Policy
from coevo.benchmarks.reproductions.arms import SEAT, arms
from coevo.benchmarks.reproductions.table_run import learnt
from coevo.envs.core.config import config, real
from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.registry import register
from coevo.envs.core.task import Task

ID = "coevo/contexts-v0"
Values = tuple[Annotated[float, real()], ...]


@config
class ContextsConfig:
    """What the choice takes."""

    payoffs: Annotated[tuple[Values, ...], Field(min_length=1)] = ((0.0, 1.0), (1.0, 0.0))
    """Payoff of every arm, context by context."""
    beside: Values = ()
    """What is noted of every arm; empty notes nothing."""


class Contexts(Task[ContextsConfig]):
    """One context, one choice among arms a0, a1, ..."""

    env_id = ID
    config_class = ContextsConfig
    seats = (SEAT,)

    def __init__(self, config: ContextsConfig) -> None:
        super().__init__(config)
        every = [paid for row in config.payoffs for paid in row]
        self.payoff_range = (min(every), max(every))

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Draw the context."""
        self.context, self.over = int(rng.integers(len(self.config.payoffs))), False
        self.task_id = str(self.context)

    def to_move(self) -> Sequence[str]:
        """Return the seat until it has moved."""
        return () if self.over else self.seats

    def legal(self, seat: str) -> Sequence[str]:
        """Return all arms."""
        return arms(len(self.config.payoffs[0]))

    def describe(self, seat: str, turn: Turn) -> None:
        """Note what the arm is worth beside its payoff."""
        super().describe(seat, turn)
        if self.config.beside and turn.move is not None:
            turn.notes["beside"] = self.config.beside[int(turn.move[1:])]

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Pay the arm."""
        self.over = True
        return {SEAT: self.config.payoffs[self.context][int(moves[SEAT][1:])]}

    def rules(self, seat: str) -> str:
        """Explain the choice."""
        return f"Choose an arm for the context. {ANSWER_FORMAT}"

    def situation(self, seat: str) -> str:
        """Return the context."""
        return str(self.context)

    def terse(self, seat: str) -> str:
        """Return the context."""
        return self.situation(seat)

    def draw(self) -> str:
        """Return the context."""
        return self.situation(SEAT)


raw_env = raw_factory(Contexts)
env = aec_factory(Contexts)
register(ID, __name__, "arms in contexts", kind="cooperative", seats=1, listed=False)


def odds(policy: Policy, payoffs: Sequence[Values]) -> Tensor:
    """Return the probabilities of the arms in every context; those never met are uniform."""
    found, (arms_A, *_) = learnt(policy), payoffs
    even_A = torch.full((len(arms_A),), 1 / len(arms_A), dtype=torch.float64)
    return torch.stack([found.get(str(context), even_A) for context in range(len(payoffs))])
