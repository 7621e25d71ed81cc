"""Search self-play without the search: a proposer asks one of some questions, solvers answer.

The last question is broken: nobody can answer it. A gate rejects it; without one it goes to the
solvers, who all fail. Payoffs are those of `coevo/search_self_play-v0`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.registry import register
from coevo.envs.core.task import Task
from coevo.envs.search.payoffs import (
    ProposerReward,
    proposer_payoff,
    solver_payoff,
    success_share,
)

ID = "coevo/asking-v0"
PROPOSER = "proposer_0"
ASK = "Ask"
"""What the proposer is told."""


@config
class AskingConfig:
    """What asking takes."""

    right: Annotated[tuple[Annotated[int, whole(0)], ...], Field(min_length=1)] = (0, 1)
    """Right answer of every question but the broken one."""
    answers: Annotated[int, whole(1)] = 8
    solvers: Annotated[int, whole(1)] = 5
    gate: Annotated[bool, Field(strict=True)] = True
    """Whether the broken question is rejected."""
    proposer_reward: ProposerReward = "one_minus"
    """What a proposer is paid for a question that was asked."""
    edge_reward: Annotated[float, real()] = 0.0
    """Learnability of what nobody or everybody solves."""
    invalid_reward: Annotated[float, real()] = 0.0
    """What a proposer is paid for a rejected question."""


class Asking(Task[AskingConfig]):
    """One question, and then the answers of all solvers at the same time."""

    env_id = ID
    config_class = AskingConfig

    def __init__(self, config: AskingConfig) -> None:
        super().__init__(config)
        self.solvers = tuple(f"solver_{i}" for i in range(config.solvers))
        self.seats = (PROPOSER, *self.solvers)
        paid = (0.0, 1.0, config.invalid_reward, config.edge_reward)
        self.payoff_range = (min(paid), max(paid))
        self.questions = tuple(f"q{i}" for i in range(len(config.right) + 1))
        self.said = tuple(f"a{i}" for i in range(config.answers))

    @property
    def broken(self) -> str:
        """Return the question that has no answer."""
        return self.questions[-1]

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Nothing is drawn."""
        self.asked: str | None = None
        self.over = False
        self.success: float | None = None

    def to_move(self) -> Sequence[str]:
        """Return the proposer, then the solvers of a question that was not rejected."""
        if self.over:
            return ()
        return (PROPOSER,) if self.asked is None else self.solvers

    def legal(self, seat: str) -> Sequence[str]:
        """Return all questions, or all answers."""
        return self.questions if seat == PROPOSER else self.said

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Ask or reject the question; pay solvers and proposer."""
        if self.asked is None:
            self.asked = moves[PROPOSER]
            self.over = self.config.gate and self.asked == self.broken
            return {PROPOSER: self._proposer_payoff()} if self.over else {}
        self.over = True
        paid = {s: solver_payoff(self._right(said)) for s, said in moves.items()}
        self.success = success_share(list(paid.values()))
        return {**paid, PROPOSER: self._proposer_payoff()}

    def _right(self, said: str) -> bool:
        number = self.questions.index(str(self.asked))
        return self.asked != self.broken and said == self.said[self.config.right[number]]

    def _proposer_payoff(self) -> float:
        given = self.config
        return proposer_payoff(
            self.success,
            given.proposer_reward,
            invalid=given.invalid_reward,
            edge=given.edge_reward,
        )

    def outcome(self) -> dict[str, float]:
        """Return the share of solvers that succeeded, where there were any."""
        return {} if self.success is None else {"success": self.success}

    def rules(self, seat: str) -> str:
        """Explain the task."""
        return f"Ask a question, or answer it. {ANSWER_FORMAT}"

    def situation(self, seat: str) -> str:
        """Return the question."""
        return ASK if seat == PROPOSER else str(self.asked)

    def terse(self, seat: str) -> str:
        """Return the question."""
        return self.situation(seat)

    def draw(self) -> str:
        """Return the question, and how it went."""
        return f"{self.asked}: {'open' if self.success is None else self.success}"


raw_env = raw_factory(Asking)
env = aec_factory(Asking)
register(ID, __name__, "questions and answers", kind="mixed", seats=6, listed=False)
