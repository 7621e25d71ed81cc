"""What a judge is asked, in words: whether a reply is right, which of two, or in which order.

Judges see the last message that the seat saw and the final answer alone (the move, or the whole
text where nothing was read from it), quoted: no reply can word the question that it is judged by.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from coevo.envs.core.chat import Chat
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import CoevoError
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.quoting import quote, quote_line

Kind = Literal["pointwise", "pairwise", "groupwise", "other"]
YES, NO = "yes", "no"
FIRST, SECOND = "first", "second"
POINTS = 7
"""Most points of an answer beside another."""
MOST = 4
"""Most replies that are put in order at once: the orders of more are too many to list."""


class JudgeError(CoevoError):
    """A judge gave no answer that can be read."""

    exit_code = 1


@dataclass(frozen=True)
class Question:
    """One question to a role."""

    chat: Chat
    answers: tuple[str, ...] = ()
    """What it may answer; empty where any text is an answer."""
    kind: Kind = "other"
    target: str = ""
    """The right answer; empty where it is unknown."""
    worth: tuple[float, ...] = ()
    """What the replies that are to be put in order are worth, where that is known."""
    reply: str = ""
    """What was replied to the chat, for a reward head."""

    def paid(self, answer: str | None) -> float:
        """Return what an answer earns: 1 for the target, 0 for another or none.

        Where replies are put in order, Kendall's tau with what they are worth; -1 for no order.

        >>> order = Question((), kind="groupwise", worth=(0.0, 1.0, 0.5))
        >>> [order.paid(x) for x in ("2 3 1", "1 3 2", "2 1 3", None)]
        [1.0, -1.0, 0.3333333333333333, -1.0]
        """
        if self.kind != "groupwise":
            return float(answer == self.target)
        return -1.0 if answer is None else kendall(ranks(answer), self.worth)

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, data: dict[str, Any]) -> Question:
        made = cls(**data)
        texts, worth = tuple(made.answers), tuple(made.worth)
        return replace(made, chat=tuple(made.chat), answers=texts, worth=worth)


def asked_of(turn: Turn) -> str:
    """Return what a seat was asked last."""
    return str(turn.chat[-1]["content"]) if turn.chat else ""


def answer_of(turn: Turn) -> str:
    """Return the final answer of a turn: what was read from it, or all of it."""
    found = turn.answer if turn.answer is not None else turn.move
    return turn.text if found is None else found


def pointwise(task: str, answer: str, target: str = "") -> Question:
    text = f"{_task(task)}\nAnswer: {quote_line(answer)}\nIs it right?"
    return Question(_chat(text), (YES, NO), "pointwise", target)


def pairwise(task: str, one: str, other: str, target: str = "", rubric: str = "") -> Question:
    """Ask which of two answers is better, by a rubric where one is given."""
    shown = f"First: {quote_line(one)}\nSecond: {quote_line(other)}"
    by = f"\nRubric:\n{quote(rubric)}" if rubric else ""
    text = f"{_task(task)}{by}\n{shown}\nWhich is better?"
    return Question(_chat(text), (FIRST, SECOND), "pairwise", target)


def rubric_for(task: str, rubrics: Sequence[str] = ()) -> Question:
    """Ask for a rubric by which answers to a task can be compared."""
    text = f"{_task(task)}\nWrite a rubric to compare answers to this task."
    return Question(_chat(text), tuple(rubrics))


def helps(task: str, rubric: str) -> Question:
    """Ask whether a rubric helps to compare answers to a task."""
    text = f"{_task(task)}\nRubric:\n{quote(rubric)}\nDoes this rubric help to compare answers?"
    return Question(_chat(text), (YES, NO))


def versus(task: str, one: str, other: str) -> Question:
    """Ask for the points of two answers."""
    shown = f"First: {quote_line(one)}\nSecond: {quote_line(other)}"
    text = f"{_task(task)}\n{shown}\nPoints of the first and of the second, 0 to {POINTS} each?"
    both = itertools.product(range(POINTS + 1), repeat=2)
    return Question(_chat(text), tuple(f"{a} {b}" for a, b in both))


def groupwise(task: str, answers: Sequence[str], worth: Sequence[float] = ()) -> Question:
    """Ask for the order of up to `MOST` answers, the best first."""
    lines = "\n".join(f"{k + 1}: {quote_line(a)}" for k, a in enumerate(answers))
    text = f"{_task(task)}\n{lines}\nOrder, best first?"
    return Question(_chat(text), orders(len(answers)), "groupwise", worth=tuple(worth))


def graded(task: str, answer: str, top: int) -> Question:
    """Ask for the points of an answer by the rubric in the prompt."""
    text = f"{_task(task)}\nAnswer: {quote_line(answer)}\nPoints by the rubric, 0 to {top}?"
    return Question(_chat(text), tuple(map(str, range(top + 1))))


def rewrite(task: str, answer: str, answers: Sequence[str]) -> Question:
    """Ask for a wrong answer that looks like a right one."""
    text = f"{_task(task)}\nRight: {quote_line(answer)}\nMake it wrong, alike in form and length."
    return Question(_chat(text), tuple(answers))


def reflection(task: str, reply: str, target: str, answers: Sequence[str]) -> Question:
    """Ask for the right answer where a wrong reply is shown."""
    text = f"{_task(task)}\nWrong: {quote_line(reply, 400)}\nAnswer the task again."
    return Question(_chat(text), tuple(answers), "other", target)


def reading(task: str, reference: str, reply: str, answers: Sequence[str] = ()) -> Question:
    """Show a reward head a reply, and the right answer where it is known."""
    known = f"\nRight: {quote_line(reference)}" if reference else ""
    chat: Chat = ({"role": "user", "content": f"{_task(task)}{known}"},)
    return Question(chat, tuple(answers), reply=reply)


def orders(count: int) -> tuple[str, ...]:
    """Return all orders of so many replies.

    >>> orders(2)
    ('1 2', '2 1')
    """
    return tuple(" ".join(map(str, p)) for p in itertools.permutations(range(1, count + 1)))


def ranks(order: str) -> tuple[float, ...]:
    """Return the rank of every reply in an order, 1 for the best and 0 for the last.

    >>> ranks("2 3 1")
    (0.0, 1.0, 0.5)
    """
    places = order.split()
    return tuple(
        1.0 - places.index(str(k + 1)) / max(len(places) - 1, 1) for k in range(len(places))
    )


def kendall(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Kendall's tau: sum over pairs of the product of signs, over the number of pairs.

    >>> kendall([1, 2], [1, 2]), kendall([1, 2], [2, 1]), kendall([1, 2], [1, 1])
    (1.0, -1.0, 0.0)
    """
    pairs = list(itertools.combinations(range(len(one)), 2))
    signs = [_sign(one[i] - one[j]) * _sign(other[i] - other[j]) for i, j in pairs]
    return sum(signs) / max(len(pairs), 1)


def _sign(x: float) -> float:
    return float((x > 0) - (x < 0))


def _task(text: str) -> str:
    return f"Task:\n{quote(text)}"


def _chat(text: str) -> Chat:
    return ({"role": "user", "content": f"{text} {ANSWER_FORMAT}"},)
