r"""Solver and verifier: one writes, one approves or rejects, until approval or out of loops.

Agents        solver_0, verifier_0, in turn
Observation   chat: rules, the question, and what the other said since
Action        solver: text with a final answer, \boxed{4} or ending in [4]
              verifier: text with <verify>approve</verify> or <verify>reject</verify>, or ending
              in [approve] or [reject]
Reward        at the end, to both: what the question's source gives the last answer, 0..1
              component `unread`: -penalty to a seat that gave no answer or verdict, asked again
Ends          when the verifier approves, or after `loops` solutions; the last is not verified
Options       questions="digits": see coevo.envs.questions; loops=2; penalty=0.1
References    random 0.1 (one digit in ten), oracle 1

The orchestration of Dr. MAS for mathematics. Who gives no answer or verdict is asked again. A
verdict that cannot be read then approves nothing: the solver tries again. No reply ends the
episode. Whether the verdict was right is on record, and no seat sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import Parse, Status, parse_move
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.task import Replies
from coevo.envs.discussion.question_env import (
    QuestionConfig,
    QuestionTask,
    answered,
    even,
    known,
    mixed,
    quoted,
    shown,
)
from coevo.envs.questions import agree

SOLVER, VERIFIER = "solver_0", "verifier_0"
APPROVE, REJECT = "approve", "reject"
VERDICT_FORM = "End with <verify>approve</verify> or <verify>reject</verify>"


def verdict(text: str) -> Parse:
    """Read the verdict of a reply.

    >>> verdict("Line 2 is wrong. <verify> Reject </verify>").move, verdict("ok").move
    ('reject', None)
    """
    return parse_move(text, (APPROVE, REJECT), ("verify",))


@config
class SolverVerifierConfig(QuestionConfig):
    loops: Annotated[int, whole(1, 100)] = 2
    """Solutions at most."""
    penalty: Annotated[float, real(0)] = 0.1
    """Of a reply without answer or verdict, as component `unread`."""


class SolverVerifier(QuestionTask[SolverVerifierConfig]):
    """Two seats that are paid alike for the last answer."""

    env_id = "coevo/solver_verifier-v0"
    components = ("unread",)
    config_class = SolverVerifierConfig
    seats = (SOLVER, VERIFIER)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.draw_question(rng, options)
        self._solutions: list[int] = []  # places in the episode
        self._verdicts: list[int] = []
        approved = False
        while not approved:
            yield One(SOLVER, read=self.final, form=self.form_of_answer, otherwise="")
            yield from self._placed(self._solutions)
            if len(self._solutions) == self.config.loops:
                break
            said = yield One(VERIFIER, read=verdict, form=f"{VERDICT_FORM}.", otherwise="")
            yield from self._placed(self._verdicts)
            approved = said == APPROVE
        yield Pay(dict.fromkeys(self.seats, self.turns[self._solutions[-1]].verified or 0.0))

    def _placed(self, places: list[int]) -> Protocol:
        """Note the place of the latest reply, and charge for one that could not be read."""
        places.append(len(self.turns) - 1)
        if self.turns[-1].status is not Status.LEGAL and self.config.penalty:
            yield Pay({self.turns[-1].agent: -self.config.penalty}, "unread")

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.round = max(len(self._solutions) - (seat == VERIFIER), 0)
        before = self._verdicts if seat == SOLVER else self._solutions
        turn.about = before[-1] if before else -1
        if seat == SOLVER:
            self.note_answer(turn)
            self.note_foreign(turn, "answer")
        else:
            self._judge(turn)
            self.note_foreign(turn, "verify")

    def _judge(self, turn: Turn) -> None:
        """Note a verdict and whether it is right; one that cannot be read is wrong."""
        said = verdict(turn.text)
        turn.notes["verdict"] = said.move or "unread"
        right = self._right(self._solutions[-1]) == (said.move == APPROVE)
        turn.verified = float(said.ok and right)

    @property
    def _rejected(self) -> bool:
        return self.turns[self._verdicts[-1]].move == REJECT

    def _right(self, place: int) -> bool:
        return (self.turns[place].verified or 0.0) >= 0.5

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the right answer, or judge rightly, with probability `skill`, else at random."""
        right = known(self.question)
        if seat == SOLVER:
            return answered(self.question, skill)
        both = even((APPROVE, REJECT))
        if right is None:
            return mixed((1.0, both))
        good = agree(self.turns[self._solutions[-1]].answer or "", right, "number")
        return mixed((skill, {APPROVE if good else REJECT: 1.0}), (1 - skill, both))

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        most = "1 solution" if self.config.loops == 1 else f"{self.config.loops} solutions"
        shared = (
            f"{SOLVER} and {VERIFIER} answer a question together. {SOLVER} writes a solution; "
            f"{VERIFIER} approves it, which ends the task, or rejects it, and {SOLVER} tries "
            f"again, up to {most} in all; the last one is not checked. Both of you earn 1 if the "
            "final answer of the last solution is right, and 0 if it is wrong.\n"
        )
        if seat == SOLVER:
            return f"{shared}You are {SOLVER}. Explain your steps briefly. {self.form_of_answer}"
        return (
            f"{shared}You are {VERIFIER}. Check the solution step by step, say what is wrong if "
            f"anything is. {VERDICT_FORM}."
        )

    def situation(self, seat: str) -> str:
        asked = self.question.in_full
        if seat == SOLVER and not self._verdicts:
            return asked
        if seat == SOLVER:
            review = quoted(self.turns[self._verdicts[-1]])
            said = "rejected" if self._rejected else "did not approve"
            return f"{VERIFIER} {said} solution {len(self._verdicts)}:\n{review}\nTry again."
        turn = self.turns[self._solutions[-1]]
        head = f"Solution {len(self._solutions)} of {SOLVER} (final answer: {shown(turn.answer)}):"
        told = f"{head}\n{quoted(turn)}\nYour verdict?"
        return told if self._verdicts else f"{asked}\n{told}"

    def terse(self, seat: str) -> str:
        asked, number = self.question.in_short, len(self._solutions)
        if seat == SOLVER and not number:
            return f"Solve: {asked} Reply {self.mark}."
        said = shown(self.turns[self._solutions[-1]].answer)
        if seat == SOLVER:
            how = "Rejected" if self._rejected else "Not approved"
            return f"Solve: {asked} {how}: {said}. Reply {self.mark}."
        return f"Verify: {asked} Solver: {said}. Reply [{APPROVE}] or [{REJECT}]."

    def draw(self) -> str:
        lines = [f"Question: {self.question.question} (answer: {self.question.answer})"]
        for turn in self.turns:
            said = turn.answer if turn.agent == SOLVER else turn.notes["verdict"]
            lines.append(f"{turn.agent}: {said or 'no answer'}")
        return "\n".join(lines)

    def outcome(self) -> dict[str, float]:
        """Return how often solver and verifier were right, and what could not be read."""
        turns = self.turns
        solutions = [turns[i].verified or 0.0 for i in self._solutions]
        verdicts = [turns[i] for i in self._verdicts]
        found = {
            "solutions": float(len(solutions)),
            "approved": float(any(turns[i].move == APPROVE for i in self._verdicts)),
            "unread/solver": float(self._unread(SOLVER)),
            "unread/verifier": float(self._unread(VERIFIER)),
            "foreign_tags": self.foreign(),
        }
        if solutions:
            found |= {"accuracy": solutions[-1], "accuracy/first": solutions[0]}
        if verdicts:
            right = sum(t.verified or 0.0 for t in verdicts)
            found["verdict_accuracy"] = right / len(verdicts)
        return found

    def _unread(self, seat: str) -> int:
        return sum(t.agent == seat and t.status is not Status.LEGAL for t in self.turns)


raw_env, env = turn_based(SolverVerifier)
