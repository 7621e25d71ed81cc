r"""Sequential team: helpers reason in order, an actor answers, a judge says if it is right.

Agents        reasoner_0 .. reasoner_{n-1}, then actor_0, in this order in every round
Observation   chat: rules, the question, what the seats before have said, and the judge's line,
              `correct` or `incorrect`, after every round
Action        an answer: one of the question's choices, or text with a final answer, \boxed{4} or
              ending in [4], where it has none; a reasoner's is a proposal, the actor's counts
Reward        after the round: what the question's source gives the actor's answer, 0..1
Ends          when the actor is right, or after `horizon` rounds
Options       questions="digits": see coevo.envs.questions; helpers=1; horizon=3;
              blind=False hides the question from the actor, who must go by what it is told;
              paid="all", or "actor" alone
References    random 0.271 (three guesses among ten digits), oracle 1

The ordered team of MARFT (arXiv 2504.16129). There the reward goes to the last seat of a round and
one critic spreads it over the others (`paid=actor`); unless asked for that, all are paid here, so
that every algorithm can learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import turn_based
from coevo.envs.core.protocol import Pay, Protocol
from coevo.envs.core.task import Replies
from coevo.envs.discussion.question_env import (
    QuestionConfig,
    QuestionTask,
    answered,
    even,
    guesses,
    mixed,
    quoted,
    shown,
)

ACTOR = "actor_0"


@config
class SequentialTeamConfig(QuestionConfig):
    helpers: Annotated[int, whole(1, 7)] = 1
    """Seats that speak before the actor."""
    horizon: Annotated[int, whole(1, 100)] = 3
    """Rounds at most."""
    blind: Annotated[bool, Field(strict=True)] = False
    """Whether the actor does not see the question."""
    paid: Literal["all", "actor"] = "all"
    """Who earns what the answer is worth."""


class SequentialTeam(QuestionTask[SequentialTeamConfig]):
    """Rounds in which every seat reads those before it."""

    env_id = "coevo/sequential_team-v0"
    config_class = SequentialTeamConfig

    def __init__(self, config: SequentialTeamConfig) -> None:
        super().__init__(config)
        self.seats = (*(f"reasoner_{i}" for i in range(config.helpers)), ACTOR)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.draw_question(rng, options)
        self.said: list[str] = []
        self.round, self._read = 0, dict.fromkeys(self.seats, 0)
        for number in range(self.config.horizon):
            self.round = number
            for seat in self.seats:
                said = yield self.answering(seat)
                self._read[seat] = len(self.said)
                self.said.append(said)
            score = self.score(self.said[-1])
            yield Pay(dict.fromkeys(self.seats if self.config.paid == "all" else (ACTOR,), score))
            if score:
                break

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.round = self.round
        self.note_answer(turn)

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        super().hide(seat, rng)
        if self._sees(seat):
            return True
        other = self.source.item(self.source.draw(rng))
        self.question = replace(other, answer=self.question.answer, choices=self.question.choices)
        return True

    def _sees(self, seat: str) -> bool:
        return seat != ACTOR or not self.config.blind

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the right answer with probability `skill`; a blind actor repeats the last one."""
        last, options = self.said[-1] if self.said else "", guesses(self.question)
        if self._sees(seat) or last not in options:
            return answered(self.question, skill if self._sees(seat) else 0.0)
        return mixed((skill, {last: 1.0}), (1 - skill, even(options)))

    @property
    def _acted(self) -> list[str]:
        """The answers of the actor so far."""
        return self.said[self.config.helpers :: len(self.seats)]

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        order = ", ".join(self.seats[:-1])
        most = "1 round" if self.config.horizon == 1 else f"up to {self.config.horizon} rounds"
        own = (
            "Give the answer of the team."
            if seat == ACTOR
            else "Reason about the question and propose an answer to those after you."
        )
        earns = "All of you earn" if self.config.paid == "all" else f"{ACTOR} earns"
        hidden = f" {ACTOR} does not see the question." if self.config.blind else ""
        return (
            f"A team answers a question in {most}. In every round these seats speak in order: "
            f"{order} and at last {ACTOR}, whose answer counts. Each reads what the others said "
            f"before.{hidden} After the round a judge says whether the answer is correct. {earns} "
            f"1 for a correct answer, which ends the task.\nYou are {seat}. {own} "
            f"Explain your steps briefly.{self.answer_form}"
        )

    def situation(self, seat: str) -> str:
        parts = [self.question.in_full] if self._sees(seat) and not self.round else []
        start = self._read[seat] + 1 if self.round else 0
        for said, turn in list(zip(self.said, self.accepted, strict=False))[start:]:
            parts.append(f"{turn.agent} (answer: {shown(said or None)}):\n{quoted(turn)}")
        if self.round:
            parts.insert(len(parts) - self.seats.index(seat), "Judge: the answer was incorrect.")
        parts.append(f"Round {self.round + 1}. Your answer?{self.listing}")
        return "\n\n".join(parts)

    def terse(self, seat: str) -> str:
        asked = self.question.in_short if self._sees(seat) else "The question is hidden."
        tried = ", ".join(shown(said or None) for said in self._acted)
        now = self.said[self.round * len(self.seats) :]
        heard = ", ".join(shown(said or None) for said in now)
        how = "[move]" if self.question.choices else self.mark
        return (
            f"Team: {asked}"
            + (f" Incorrect: {tried}." if tried else "")
            + (f" Before you: {heard}." if heard else "")
            + f" Reply {how}."
        )

    def draw(self) -> str:
        lines = [f"Question: {self.question.question} (answer: {self.question.answer})"]
        for number, said in enumerate(self.said):
            turn, place = divmod(number, len(self.seats))
            lines.append(f"round {turn + 1}, {self.seats[place]}: {said or 'no answer'}")
        return "\n".join(lines)

    def outcome(self) -> dict[str, float]:
        """Return whether the team was right, in the first round and at last, and its rounds."""
        acted = list(map(self.score, self._acted))
        if not acted:
            return {}
        return {
            "accuracy": acted[-1],
            "accuracy/first": acted[0],
            "rounds": float(len(acted)),
        }


raw_env, env = turn_based(SequentialTeam)
