r"""Solver and verifier: one writes, one approves or rejects, until approval or out of loops.

Agents        solver_0, verifier_0, in turn
Observation   chat: rules, the question, and what the other said since
Action        solver: text with a final answer, \boxed{4} or ending in [4]
              verifier: text with <verify>approve</verify> or <verify>reject</verify>, or ending
              in [approve] or [reject]
Reward        at the end, to both: what the question's source gives the last answer, 0..1
              component `unread`: -penalty to a seat whose reply held no answer or no verdict
Ends          when the verifier approves, or after `loops` solutions; the last is not verified
Options       questions="arithmetic": see coevo.envs.questions; loops=2; penalty=0.1
References    random 0.1 (one digit in ten), oracle 1

The orchestration of Dr. MAS for mathematics. A verdict that can't be read counts as approval, so
the play goes on with what there is; it is counted in the outcome, and costs its author the
penalty. No reply is illegal. Whether the verdict was right is on record and shown to nobody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import aec_factory
from coevo.envs.core.parsing import Parse, Status, parse_move
from coevo.envs.discussion.question_env import ANSWER_FORM, QuestionEnv, quoted, shown, whole
from coevo.envs.questions import QuestionSource
from coevo.envs.questions.sources import DEFAULT

SOLVER, VERIFIER = "solver_0", "verifier_0"
APPROVE, REJECT = "approve", "reject"
_VERDICT = re.compile(
    r"<verify>\s{0,9}(approve|reject)\s{0,9}</verify>|\[\s{0,9}(approve|reject)\s{0,9}\]\s{0,40}\Z",
    re.IGNORECASE,
)


def verdict(text: str) -> str | None:
    """Read the last verdict of a reply, outside what it thinks; None where there is none.

    >>> verdict("Line 2 is wrong. <verify> Reject </verify>"), verdict("[approve]"), verdict("ok")
    ('reject', 'approve', None)
    """
    found = _VERDICT.findall(parse_move(text, None).move or "")
    return "".join(found[-1]).lower() if found else None


class SolverVerifier(QuestionEnv):
    """Two seats that are paid alike for the last answer.

    Args:
        questions: where questions come from.
        loops: solutions at most.
        penalty: charged for a reply without answer or verdict, as component `unread`.
        **kwargs: those of every environment; the illegal-move policy has nothing to do here.
    """

    env_id = "coevo/solver_verifier-v0"

    def __init__(
        self,
        *,
        questions: str | Mapping[str, Any] | QuestionSource = DEFAULT,
        loops: int = 2,
        penalty: float = 0.1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._ask(questions)
        self.loops, self.penalty = whole("loops", loops, 1, 100), float(penalty)
        if not (isfinite(penalty) and penalty >= 0):
            raise ConfigError(f"penalty={penalty!r} must be a number, 0 or more")
        changed = {"loops": (loops, 2), "penalty": (self.penalty, 0.1)}
        self.options |= {name: value for name, (value, usual) in changed.items() if value != usual}

    def _seats(self) -> Sequence[str]:
        return (SOLVER, VERIFIER)

    def _begin(self, options: Mapping[str, Any]) -> None:
        super()._begin(options)
        self._mover: str | None = SOLVER
        self._solutions: list[int] = []  # places in the episode
        self._verdicts: list[int] = []

    def _to_move(self) -> Sequence[str]:
        return () if self._mover is None else (self._mover,)

    def _legal(self, agent: str) -> Sequence[str] | None:
        return None

    def _read(self, agent: str, text: str) -> Parse:
        """Read an answer or a verdict; a reply without one is played as well."""
        move = self._final(text) if agent == SOLVER else (verdict(text) or APPROVE)
        return Parse(move or "", Status.LEGAL)

    def _describe(self, agent: str, turn: Turn) -> None:
        super()._describe(agent, turn)
        turn.round = max(len(self._solutions) - (agent == VERIFIER), 0)
        before = self._verdicts if agent == SOLVER else self._solutions
        turn.about = before[-1] if before else -1
        if agent == SOLVER:
            self._answered(turn)
            unread = turn.answer is None
            self._foreign(turn, "answer")
        else:
            unread = self._judge(turn)
            self._foreign(turn, "verify")
        if unread:
            turn.notes["unread"] = True

    def _judge(self, turn: Turn) -> bool:
        """Note a verdict and whether it is right; tell whether it could not be read."""
        said = verdict(turn.text)
        right = (self._right(self._solutions[-1])) == ((said or APPROVE) == APPROVE)
        turn.notes["verdict"] = said or f"{APPROVE} (unread)"
        turn.verified = float(right)
        return said is None

    def _right(self, place: int) -> bool:
        return (self.episode.turns[place].verified or 0.0) >= 0.5

    def _play(self, moves: dict[str, str]) -> dict[str, float]:
        [(agent, move)] = moves.items()
        place = len(self.episode.turns) - 1
        turn = self.episode.turns[place]
        if "unread" in turn.notes and self.penalty:
            turn.pay("unread", {agent: -self.penalty})
        if agent == SOLVER:
            self._solutions.append(place)
            self._mover = VERIFIER if len(self._solutions) < self.loops else None
        else:
            self._verdicts.append(place)
            self._mover = None if move == APPROVE else SOLVER
        if self._mover is not None:
            return {}
        last = self.episode.turns[self._solutions[-1]]
        return dict.fromkeys(self.possible_agents, last.verified or 0.0)

    # ---- Words -----------------------------------------------------------------------------

    def _rules(self, agent: str) -> str:
        most = "1 solution" if self.loops == 1 else f"{self.loops} solutions"
        shared = (
            f"{SOLVER} and {VERIFIER} answer a question together. {SOLVER} writes a solution; "
            f"{VERIFIER} approves it, which ends the task, or rejects it, and {SOLVER} tries "
            f"again, up to {most} in all; the last one is not checked. Both of you earn 1 if the "
            "final answer of the last solution is right, and 0 if it is wrong.\n"
        )
        if agent == SOLVER:
            return f"{shared}You are {SOLVER}. Explain your steps briefly. {ANSWER_FORM}"
        return (
            f"{shared}You are {VERIFIER}. Check the solution step by step, say what is wrong if "
            "anything is, and end with <verify>approve</verify> or <verify>reject</verify>."
        )

    def _situation(self, agent: str) -> str:
        asked = f"Question: {self.question.question}"
        if agent == SOLVER and not self._verdicts:
            return asked
        if agent == SOLVER:
            review = quoted(self.episode.turns[self._verdicts[-1]])
            return f"{VERIFIER} rejected solution {len(self._verdicts)}:\n{review}\nTry again."
        turn = self.episode.turns[self._solutions[-1]]
        head = f"Solution {len(self._solutions)} of {SOLVER} (final answer: {shown(turn.answer)}):"
        told = f"{head}\n{quoted(turn)}\nYour verdict?"
        return told if self._verdicts else f"{asked}\n{told}"

    def _terse(self, agent: str) -> str:
        asked, number = self.question.question, len(self._solutions)
        if agent == SOLVER and not number:
            return f"Solve: {asked} Reply [answer]."
        said = shown(self.episode.turns[self._solutions[-1]].answer)
        if agent == SOLVER:
            return f"Solve: {asked} Rejected: {said}. Reply [answer]."
        return f"Verify: {asked} Solver: {said}. Reply [{APPROVE}] or [{REJECT}]."

    def _draw(self) -> str:
        lines = [f"Question: {self.question.question} (answer: {self.question.answer})"]
        for turn in self.episode.turns:
            said = turn.answer if turn.agent == SOLVER else turn.notes["verdict"]
            lines.append(f"{turn.agent}: {said or 'no answer'}")
        return "\n".join(lines)

    def _outcome(self) -> dict[str, float]:
        turns = self.episode.turns
        solutions = [turns[i].verified or 0.0 for i in self._solutions]
        verdicts = [turns[i] for i in self._verdicts]
        found = {
            "solutions": float(len(solutions)),
            "approved": float(any(turns[i].move == APPROVE for i in self._verdicts)),
            "unread/solver": float(sum("unread" in turns[i].notes for i in self._solutions)),
            "unread/verifier": float(sum("unread" in t.notes for t in verdicts)),
            "foreign_tags": self._breaches(),
        }
        if solutions:
            found |= {"accuracy": solutions[-1], "accuracy/first": solutions[0]}
        if verdicts:
            right = sum(t.verified or 0.0 for t in verdicts)
            found["verdict_accuracy"] = right / len(verdicts)
        return found


raw_env = SolverVerifier
env = aec_factory(SolverVerifier)
