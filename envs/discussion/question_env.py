"""What tasks share in which a question with a known answer is asked: drawing, grading, experts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from coevo.envs.core.config import config
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Parse, answer, missing, spoken
from coevo.envs.core.protocol import One, ProtocolTask
from coevo.envs.core.quoting import quote, quote_line
from coevo.envs.core.task import Replies
from coevo.envs.questions import Question, QuestionSource, final_answer
from coevo.envs.questions.arithmetic import Digits
from coevo.envs.questions.sources import Source

_TAG = re.compile(r"</?([a-z_]{2,20})>", re.IGNORECASE)
PROTOCOL_TAGS = frozenset({"answer", "verify", "score", "search", "information"})
"""Tags that mean something in some task here; an agent may use its own role's only."""
ANSWER_FORM = r"Put the final answer in \boxed{} or, as the last thing, in square brackets."
CODE_FORM = "Put the whole program in one block between lines of three backticks."
CODE_MARK = "a block of code"
SHORT = 60
"""Characters of an answer that a terse prompt shows."""


@config
class QuestionConfig:
    questions: Source = Digits()
    """Where questions come from: see coevo.envs.questions."""


C = TypeVar("C", bound=QuestionConfig)


class QuestionTask(ProtocolTask[C]):
    """A task about one question; every episode draws one.

    `options={"item": number}` of a reset names the question, `{"difficulty": 0.5}` draws one of
    that difficulty, 0 to 1, where the source gives it.
    """

    payoff_range = (0.0, 1.0)

    def __init__(self, config: C) -> None:
        super().__init__(config)
        self.source: QuestionSource = config.questions
        self.slow = self.source.slow

    @property
    def difficulties(self) -> Sequence[float]:
        return self.source.difficulties

    @property
    def worked_solution(self) -> str:
        return self.question.solution

    def arguments(self) -> dict[str, Any]:
        given = super().arguments()
        return given | {"questions": self.source.record} if "questions" in given else given

    def draw_question(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Draw the question of the episode; every protocol begins with it."""
        item = options.get("item")
        level = _difficulty(options.get("difficulty"))
        self.item = self.source.draw(rng, level) if item is None else _place(item, len(self.source))
        self.question = self.source.item(self.item)
        self.task_id = f"{self.source.name}:{self.question.id}"

    def variation(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the place of a question that is near, as the source understands it."""
        return {"item": self.source.near(self.item, rng)}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Replace the answer of the question."""
        self.question = replace(self.question, answer=str(rng.integers(10**6)))
        return True

    def final(self, text: str) -> str | Parse:
        """Read the final answer of a reply."""
        return final_answer(text, self.question.kind) or missing(text, "final answer")

    def answering(self, seat: str, phase: str = "") -> One:
        """Ask a seat for an answer: one of the question's choices, any text where it has none."""
        if self.question.choices:
            return One(seat, phase=phase, moves=self.question.choices)
        return One(seat, phase=phase, read=self.final, form=self.form_of_answer, otherwise="")

    @property
    def form_of_answer(self) -> str:
        """Return in a sentence how to give any text as an answer."""
        return CODE_FORM if self.question.kind == "code" else ANSWER_FORM

    @property
    def mark(self) -> str:
        """Return how to give any text as an answer in a terse prompt."""
        return CODE_MARK if self.question.kind == "code" else "[answer]"

    @property
    def answer_form(self) -> str:
        """Return how to answer, for the rules; where answers are listed the engine says it."""
        return "" if self.question.choices else f" {self.form_of_answer}"

    @property
    def listing(self) -> str:
        """Return a line with the answers to choose from; empty where any text is an answer."""
        return listing(self.question.choices)

    def score(self, said: str) -> float:
        """Return how right an answer is that was received as a move."""
        return self.source.grade(self.question, said or None)

    @property
    def accepted(self) -> list[Turn]:
        """Return the replies that were carried out, in order."""
        return [turn for turn in self.turns if turn.move is not None]

    def note_answer(self, turn: Turn) -> None:
        """Note the answer that a turn gives, whether it is right, and what the right one is."""
        listed = turn.legal is not None
        turn.answer = turn.move if listed else final_answer(turn.text, self.question.kind)
        turn.verified = self.source.grade(self.question, turn.answer)
        if self.question.answer:
            turn.notes["reference"] = self.question.answer

    def note_foreign(self, turn: Turn, *own: str) -> None:
        """Note the tags of other roles in a reply; they are text without effect."""
        found = foreign_tags(turn.text, own)
        if found:
            turn.notes["foreign_tags"] = found

    def foreign(self) -> float:
        """Return the number of replies with tags of other roles."""
        return float(sum("foreign_tags" in turn.notes for turn in self.turns))


_DIGITS = tuple(map(str, range(10)))
_NUMBERS = ("number", "mathematics")
_WHOLE = re.compile(r"-?\d[\d,]{0,30}")
_PLAIN = re.compile(r"-?\w[\w.,/]*(?: \w+)*")
_NEAR = (-10, -2, -1, 0, 1, 2, 10)


def known(question: Question) -> str | None:
    """Return the answer that an expert of skill 1 knows; None where there is none."""
    return question.answer or None


def guesses(question: Question) -> tuple[str, ...]:
    """Return plausible guesses: the choices, numbers near the right one, else digits.

    >>> guesses(Question("1+2*3+4-5*1=?", "6", "number", source="sums"))
    ('-4', '4', '5', '6', '7', '8', '16')
    """
    whole = question.kind in _NUMBERS and _WHOLE.fullmatch(question.answer)
    if question.choices or question.source == "digits" or not whole:
        return question.choices or _DIGITS
    return tuple(str(int(question.answer.replace(",", "")) + step) for step in _NEAR)


def mixed(*weighted: tuple[float, Mapping[str, float]]) -> Replies:
    """Return a mixture of distributions over moves as one over replies.

    >>> mixed((0.5, {"a": 1.0}), (0.5, {"a": 0.5, "b": 0.5}))
    Replies(texts=('[a]', '[b]'), probabilities=array([0.75, 0.25]))
    """
    total: dict[str, float] = {}
    for weight, chances in weighted:
        for move, chance in chances.items():
            total[move] = total.get(move, 0.0) + weight * chance
    kept = {move: chance for move, chance in total.items() if chance > 0}
    summed = np.array(list(kept.values()))
    return Replies(tuple(map(spelled, kept)), summed / summed.sum())


def spelled(move: str) -> str:
    r"""Return a reply in which a move is read: programs in a block, formulas in a box.

    >>> spelled("7"), spelled(r"\pi")
    ('[7]', '\\boxed{\\pi}')
    """
    if "\n" in move:
        return f"```python\n{move.strip(chr(10))}\n```"
    return answer(move) if _PLAIN.fullmatch(move) else f"\\boxed{{{move}}}"


def even(moves: tuple[str, ...]) -> dict[str, float]:
    """Return all moves with the same probability."""
    return dict.fromkeys(moves, 1 / len(moves))


def answered(question: Question, skill: float) -> Replies:
    """Return the right answer with probability `skill`, else any of the guesses."""
    right, others = known(question), even(guesses(question))
    return mixed((skill, others if right is None else {right: 1.0}), (1 - skill, others))


def listing(moves: Sequence[str]) -> str:
    r"""Return a line of its own with legal moves; empty where there are none.

    >>> listing(["a", "b"])
    '\nLegal moves: [a], [b]'
    """
    return f"\nLegal moves: {', '.join(map(answer, moves))}" if moves else ""


def foreign_tags(text: str, own: tuple[str, ...] = ()) -> list[str]:
    """List the protocol tags in a reply that belong to other roles.

    >>> foreign_tags("<answer>4</answer><verify>approve</verify>", ("answer",))
    ['verify']
    """
    return sorted({m[1].lower() for m in _TAG.finditer(text)} & (PROTOCOL_TAGS - set(own)))


def quoted(turn: Turn) -> str:
    """Return what a turn said, its thoughts left out, as a block for another's prompt."""
    return quote(spoken(turn.text))


def shown(said: str | None) -> str:
    """Return an answer on one line.

    >>> shown("7"), shown("[7]"), shown(None)
    ('7', '"⟦7⟧"', 'none')
    """
    return "none" if said is None else quote_line(said, SHORT, bare=True)


def _place(item: object, count: int) -> int:
    if isinstance(item, bool) or not isinstance(item, int) or not 0 <= item < count:
        raise ConfigError(f"item={item!r} must be a whole number from 0 to {count - 1}")
    return item


def _difficulty(given: object) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise ConfigError(f"difficulty={given!r} must be a number from 0 to 1")
    return float(given)
