r"""Pioneer and observer: one answers, the other answers after it has seen that answer.

Agents        pioneer_0, observer_0, in turn
Observation   chat: rules, the question and, for the observer, what the pioneer said
Action        an answer: one of the question's choices, or text with a final answer, \boxed{4} or
              ending in [4], where it has none
Reward        at the end, to both: the sum of what the question's source gives the two answers, 0..2
Ends          after the observer's answer
Options       questions="digits": see coevo.envs.questions
References    random 0.2 (one digit in ten, twice), oracle 2

The two copies of CORY (arXiv 2410.06101), which exchange their roles as they train.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import turn_based
from coevo.envs.core.protocol import Pay, Protocol
from coevo.envs.core.task import Replies
from coevo.envs.discussion.question_env import (
    QuestionConfig,
    QuestionTask,
    answered,
    quoted,
    shown,
)

PIONEER, OBSERVER = "pioneer_0", "observer_0"


class PioneerObserver(QuestionTask[QuestionConfig]):
    """One question, answered twice; the second time with the first answer at hand."""

    env_id = "coevo/pioneer_observer-v0"
    config_class = QuestionConfig
    payoff_range = (0.0, 2.0)
    seats = (PIONEER, OBSERVER)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.draw_question(rng, options)
        self.said: list[str] = []
        for seat in self.seats:
            self.said.append((yield self.answering(seat)))
        yield Pay(dict.fromkeys(self.seats, sum(map(self.score, self.said))))

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        self.note_answer(turn)

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the right answer with probability `skill`, else a guess."""
        return answered(self.question, skill)

    def rules(self, seat: str) -> str:
        own = {
            PIONEER: "Answer first.",
            OBSERVER: f"Answer after {PIONEER}, who may be right or wrong.",
        }[seat]
        return (
            f"{PIONEER} and {OBSERVER} answer the same question, one after the other. Both of you "
            f"earn 1 for each right answer.\nYou are {seat}. {own} Explain your steps briefly."
            f"{self.answer_form}"
        )

    def situation(self, seat: str) -> str:
        asked = self.question.in_full
        if seat == OBSERVER:
            head = f"Answer of {PIONEER} (final answer: {shown(self.said[0] or None)}):"
            asked = f"{asked}\n{head}\n{quoted(self.accepted[0])}\nYour answer?"
        return asked + self.listing

    def terse(self, seat: str) -> str:
        seen = f" Pioneer: {shown(self.said[0] or None)}." if seat == OBSERVER else ""
        how = "[move]" if self.question.choices else self.mark
        return f"Answer: {self.question.in_short}{seen} Reply {how}."

    def draw(self) -> str:
        lines = [f"Question: {self.question.question} (answer: {self.question.answer})"]
        given = zip(self.seats, self.said, strict=False)
        lines += [f"{seat}: {said or 'no answer'}" for seat, said in given]
        return "\n".join(lines)

    def outcome(self) -> dict[str, float]:
        """Return whether each seat was right, and whether both gave the same answer."""
        if len(self.said) < 2:
            return {}
        one, two = self.said
        return {
            "accuracy/pioneer": self.score(one),
            "accuracy/observer": self.score(two),
            "copied": float(one == two),
        }


raw_env, env = turn_based(PioneerObserver)
