r"""Moderated debate: one side argues for its answer, the other against it, and a judge decides.

Agents        affirmative_0, negative_0, judge_0, in this order in every round
Observation   chat: rules, the question, and what the others have said since
Action        debaters: text with a final answer, \boxed{4} or ending in [4]
              judge: the same to decide, or [continue] for another round
Reward        at the end, to all: what the question's source gives the judge's answer, 0..1; 0
              where it never gave one
Ends          when the judge answers, or after `rounds` rounds; in the last one it must answer
Options       questions="digits": see coevo.envs.questions; rounds=3
References    random 0.1 (one digit in ten), oracle 1

The debate of Liang et al. (arXiv 2305.19118): two sides and a moderator who may stop early. A
judge's reply, asked again, that neither decides nor continues continues, and counts as unread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import Parse, parse_move
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.task import Replies
from coevo.envs.discussion.question_env import (
    QuestionConfig,
    QuestionTask,
    answered,
    quoted,
    shown,
)

AFFIRMATIVE, NEGATIVE, JUDGE = "affirmative_0", "negative_0", "judge_0"
CONTINUE = "continue"
OTHERWISE = f"Otherwise end your reply with [{CONTINUE}]."


@config
class ModeratedDebateConfig(QuestionConfig):
    rounds: Annotated[int, whole(1, 100)] = 3
    """Rounds at most."""


class ModeratedDebate(QuestionTask[ModeratedDebateConfig]):
    """Two debaters, and a judge who is paid, like them, for the truth."""

    env_id = "coevo/moderated_debate-v0"
    config_class = ModeratedDebateConfig
    seats = (AFFIRMATIVE, NEGATIVE, JUDGE)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.draw_question(rng, options)
        self.said: list[Turn] = []
        self.decided: Turn | None = None
        self.round = 0
        for number in range(self.config.rounds):
            self.round = number
            for seat in self.seats:
                yield One(seat, read=self._heard, form=self._form(seat), otherwise="")
                self.said.append(self.turns[-1])
            if self.said[-1].answer is not None:
                self.decided = self.said[-1]
                break
        score = 0.0 if self.decided is None else self.decided.verified or 0.0
        yield Pay(dict.fromkeys(self.seats, score))

    @property
    def last(self) -> bool:
        """Whether this is the last round."""
        return self.round == self.config.rounds - 1

    def _heard(self, text: str) -> str | Parse:
        """Read an answer, or that the judge wants another round."""
        return CONTINUE if self._continues(text) else self.final(text)

    def _continues(self, text: str) -> bool:
        judges = JUDGE in self.asked.seats and not self.last
        return judges and parse_move(text, (CONTINUE,)).ok

    def _form(self, seat: str) -> str:
        other = f" {OTHERWISE}" if seat == JUDGE and not self.last else ""
        return f"{self.form_of_answer}{other}"

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.round = self.round
        if self._continues(turn.text):
            turn.notes["verdict"] = CONTINUE
            return
        self.note_answer(turn)
        self.note_foreign(turn, "answer")

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the right answer with probability `skill`, else a guess; the judge decides."""
        return answered(self.question, skill)

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        most = "1 round" if self.config.rounds == 1 else f"up to {self.config.rounds} rounds"
        own = {
            AFFIRMATIVE: "Give an answer and argue for it; answer the objections, and change your "
            f"answer if they are right. {self.form_of_answer}",
            NEGATIVE: f"Look for what is wrong in the answer of {AFFIRMATIVE} and argue for a "
            f"better one; agree if it is right. {self.form_of_answer}",
            JUDGE: "Weigh both sides. If you know who is right, end the debate with your answer. "
            f"{self._form(JUDGE)}",
        }[seat]
        return (
            f"{AFFIRMATIVE} and {NEGATIVE} debate a question in {most}. After each round {JUDGE} "
            "answers it, which ends the debate, or asks for another round. All of you earn 1 if "
            f"the answer of {JUDGE} is right, and 0 if it is wrong.\nYou are {seat}. {own}"
        )

    def situation(self, seat: str) -> str:
        parts = [] if self.round else [self.question.in_full]
        for turn in self._since(seat):
            parts.append(f"{turn.agent} (answer: {shown(turn.answer)}):\n{quoted(turn)}")
        ask = "Your answer?" if seat != JUDGE else f"Your answer, or [{CONTINUE}]?"
        if seat == JUDGE and self.last:
            ask = "This was the last round: your answer?"
        return "\n\n".join([*parts, f"Round {self.round + 1}. {ask}"])

    def _since(self, seat: str) -> list[Turn]:
        """Return what the other debaters said since a seat spoke last."""
        return [turn for turn in self.said[-2:] if turn.agent != JUDGE]

    def terse(self, seat: str) -> str:
        sides = [t for t in self.said if t.agent != JUDGE][-2:]
        heard = " ".join(f"{t.role.capitalize()}: {shown(t.answer)}." for t in sides)
        how = f"{self.mark} or [{CONTINUE}]" if seat == JUDGE and not self.last else self.mark
        told = f"{self.question.in_short} {heard}".strip()
        return f"You are {seat}. {told} Reply {how}."

    def draw(self) -> str:
        lines = [f"Question: {self.question.question} (answer: {self.question.answer})"]
        for turn in self.said:
            said = turn.answer or turn.notes.get("verdict", "no answer")
            lines.append(f"round {turn.round + 1}, {turn.agent}: {said}")
        return "\n".join(lines)

    def outcome(self) -> dict[str, float]:
        """Return how often judge and debaters were right in the end, and how long it took."""
        last = {turn.agent: turn for turn in self.said}
        found = {f"accuracy/{t.role}": t.verified or 0.0 for t in last.values()}
        rounds = float(sum(turn.agent == JUDGE for turn in self.said))
        return {**found, "rounds": rounds, "decided": float(self.decided is not None)}


raw_env, env = turn_based(ModeratedDebate)
