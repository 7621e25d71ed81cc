"""The registered peer review with listed replies, which tables can play, and where they start.

Prompts    of every agent: 20 questions to solve; 100 solutions to evaluate; 200 evaluated solutions
           to score.
Replies    5 answers; a flaw or none; scores 1, 2, 3 and one that nobody can read.
"""

from __future__ import annotations

from collections.abc import Sequence

from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import Parse, Status, parse_move
from coevo.envs.core.registry import register
from coevo.envs.discussion.peer_review import PeerReview, PeerReviewConfig
from coevo.envs.discussion.review_marks import SCORES, read_verdict
from coevo.envs.discussion.review_texts import Discussion, terse_prompt
from coevo.envs.questions import Question, QuestionSource

ID = "coevo/listed_review-v0"
QUESTIONS, ANSWERS = 20, 5
ROWS = QUESTIONS * (1 + 3 * ANSWERS)
"""Prompts that there are."""
REPLIES = {
    "solver": tuple(map(str, range(ANSWERS))),
    "evaluator": tuple(f"<verdict>{verdict}</verdict>" for verdict in ("wrong", "right")),
    "scorer": (*(f"<score>{score}</score>" for score in SCORES), "no score"),
}
SWAY, READABLE, AGREEABLE = 0.5, 2.5, 1.5
"""Start: how a score follows the evaluation; how seldom it is unreadable; how seldom an evaluator
names a flaw (logits)."""


class Drill(QuestionSource):
    """Questions that nothing but their number tells apart."""

    name = "drill"

    def __len__(self) -> int:
        """Return the number of questions."""
        return QUESTIONS

    def item(self, index: int) -> Question:
        """Return a question; every answer is right as often as any other."""
        text = f"Question {self._place(index)}"
        return Question(text, str(index % ANSWERS), "number", str(index), self.name)


class ListedReview(PeerReview):
    """A peer review whose replies are listed."""

    env_id = ID

    def __init__(self, config: PeerReviewConfig) -> None:
        super().__init__(config)
        self.source = Drill()

    def legal(self, seat: str) -> Sequence[str]:
        """Return the replies of the role that everybody has now."""
        return REPLIES[self._plan[self._at].role]

    def read(self, seat: str, text: str) -> Parse:
        """Return the listed reply."""
        return parse_move(text, self.legal(seat))


raw_env = raw_factory(ListedReview)
env = aec_factory(ListedReview)
register(ID, __name__, "peer review, replies listed", kind="mixed", seats=2, listed=False)


def starts(margin: float) -> dict[str, dict[str, float]]:
    """Return the logits of judges that are better than chance; solvers guess at first.

    Args:
        margin: how much likelier (logit) a scorer calls a right solution right than a wrong one.
    """
    found: dict[str, dict[str, float]] = {}
    for index in range(QUESTIONS):
        question = Drill().item(index)
        for said in REPLIES["solver"]:
            solution = _turn("solver", said, said)
            found[_prompt("evaluator", question, solution)] = dict(
                zip(REPLIES["evaluator"], (0.0, AGREEABLE), strict=True)
            )
            right = said == question.answer
            for verdict in REPLIES["evaluator"]:
                review = _turn("evaluator", verdict, read_verdict(verdict))
                fine = review.answer == "right"
                logits = (
                    margin * (not right) + SWAY * (not fine),
                    0.0,
                    margin * right + SWAY * fine,
                    -READABLE,
                )
                prompt = _prompt("scorer", question, solution, review)
                found[prompt] = dict(zip(REPLIES["scorer"], logits, strict=True))
    return found


def _turn(role: str, said: str, read: str | None) -> Turn:
    return Turn("", (), said, said, Status.LEGAL, None, role=role, answer=read)


def _prompt(role: str, question: Question, solution: Turn, *reviews: Turn) -> str:
    return terse_prompt(role, Discussion(question, ((solution, reviews),)), scored=True)
